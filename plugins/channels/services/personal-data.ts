import type { InferEntity } from '@mikro-orm/core';
import type { Database, TenantEntityManager } from 'agent-gateway';
import type { PersonalData } from '../../platform/contract.ts';
import { AppTable, BindingTable, LinkTable, SessionTable, StateTable } from '../store/tables.ts';
import { isId } from './reach.ts';
import { toApp, toBinding } from './records.ts';

/** Rows that are read at one time. */
const BATCH = 200;

/**
 * What channels keep about people: who is bound to which app, by a hash, and which browsers are logged in; of the whole tenant its apps as well.
 * Somebody who is erased is logged out within a second, and is somebody new when he logs in again.
 */
export function createChannelData(database: Pick<Database, 'forTenant'>): PersonalData {
  return {
    name: 'channels',

    async *export({ tenantId, userId, signal }) {
      const entities = database.forTenant(tenantId);
      const theirs = whose(userId);
      if (theirs === undefined) return;
      for await (const binding of rowsOf(entities, BindingTable, theirs)) {
        if (signal.aborted) return;
        yield { section: 'channel_bindings', record: { ...toBinding(binding) } };
      }
      for await (const session of rowsOf(entities, SessionTable, theirs)) {
        if (signal.aborted) return;
        const { userId: user_id, channelAppId: channel_app_id, createdAt, expiresAt } = session;
        const times = { created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
        yield { section: 'channel_sessions', record: { user_id, channel_app_id, ...times } };
      }
      if (userId !== undefined) return;
      for await (const app of rowsOf(entities, AppTable, {})) {
        if (signal.aborted) return;
        yield { section: 'channel_apps', record: { ...toApp(app) } };
      }
    },

    async erase(entities, { userId }) {
      const theirs = whose(userId);
      if (theirs === undefined) return {};
      // Apps, bindings, sessions, in the order in which a login holds them.
      const apps = userId === undefined ? { channel_apps: await entities.delete(AppTable, {}) } : {};
      const channel_bindings = await entities.delete(BindingTable, theirs);
      const channel_sessions = await entities.delete(SessionTable, theirs);
      if (userId === undefined) {
        await entities.delete(LinkTable, {});
        await entities.delete(StateTable, {});
      }
      return { ...apps, channel_bindings, channel_sessions };
    },
  };
}

/** The rows of a user, or of everybody; undefined for a text that is no user of a channel. */
function whose(userId: string | undefined): { readonly userId?: string } | undefined {
  if (userId === undefined) return {};
  return isId(userId) ? { userId } : undefined;
}

type OwnTable = typeof AppTable | typeof BindingTable | typeof SessionTable;

/** The rows of a table that match, oldest first, read in pages. */
async function* rowsOf<T extends OwnTable>(
  entities: TenantEntityManager,
  table: T,
  theirs: { readonly userId?: string },
): AsyncGenerator<InferEntity<T>> {
  for (let after = ''; ; ) {
    const where = { ...theirs, id: { $gt: after } };
    const page = { orderBy: { id: 'asc' }, limit: BATCH } as const;
    const rows = await entities.rows(table as typeof BindingTable, where, page);
    yield* rows as unknown as InferEntity<T>[];
    if (rows.length < BATCH) return;
    after = rows.at(-1)!.id;
  }
}
