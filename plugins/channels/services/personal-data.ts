import {
  type Database,
  eachRow,
  isUuid,
  type PersonalData,
  type PersonalRecord,
  type PersonalSection,
  type TenantEntityManager,
} from 'agent-gateway';
import { AppTable, BindingTable, LinkTable, SessionTable, StateTable } from '../store/tables.ts';
import { toApp, toBinding } from './records.ts';

const OLDEST_FIRST = { by: ['id'] } as const;

/**
 * What channels keep about people: who is bound to which app, by a hash, and which browsers are logged in; of the whole
 * tenant its apps as well. An erased user is logged out within a second, and gets a new user id at the next login.
 */
export function createChannelData(database: Pick<Database, 'forTenant'>): PersonalData {
  const section = (
    name: string,
    entity: PersonalSection['entities'][number],
    read: (entities: TenantEntityManager, theirs: Theirs) => AsyncIterable<PersonalRecord>,
  ): PersonalSection => ({
    name,
    entities: [entity],
    async *read({ tenantId, userId }) {
      const theirs = whose(userId);
      if (theirs !== undefined) yield* read(database.forTenant(tenantId), theirs);
    },
  });

  return {
    name: 'channels',
    sections: [
      section('channel_bindings', BindingTable, bindingRecords),
      section('channel_sessions', SessionTable, sessionRecords),
      section('channel_apps', AppTable, appRecords),
    ],

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

/** Filter for the rows of one user, or of all users. */
interface Theirs {
  readonly userId?: string;
}

/** Undefined for a text that is no user of a channel. */
function whose(userId: string | undefined): Theirs | undefined {
  if (userId === undefined) return {};
  return isUuid(userId) ? { userId } : undefined;
}

async function* bindingRecords(entities: TenantEntityManager, theirs: Theirs) {
  for await (const row of eachRow(entities, BindingTable, theirs, OLDEST_FIRST)) yield { ...toBinding(row) };
}

async function* sessionRecords(entities: TenantEntityManager, theirs: Theirs) {
  for await (const row of eachRow(entities, SessionTable, theirs, OLDEST_FIRST)) {
    const { userId: user_id, channelAppId: channel_app_id, createdAt, expiresAt } = row;
    yield { user_id, channel_app_id, created_at: createdAt, expires_at: expiresAt };
  }
}

/** Apps belong to no single user: only an export of the whole tenant has them. */
async function* appRecords(entities: TenantEntityManager, { userId }: Theirs) {
  if (userId !== undefined) return;
  for await (const row of eachRow(entities, AppTable, {}, OLDEST_FIRST)) yield { ...toApp(row) };
}
