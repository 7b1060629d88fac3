import { LockMode } from '@mikro-orm/core';
import { type Database, eraseExpired, type Page, RETRY_RACES } from 'agent-gateway';
import { TTL_S } from '../rules/registration.ts';
import { isNew } from './is-new.ts';
import { GeneTable, type NodeRow, NodeTable, SpentTable } from './tables.ts';

/** Nodes that one database of a hub knows. */
export type NodeStore = ReturnType<typeof createNodeStore>;

export function createNodeStore(database: Pick<Database, 'system' | 'transaction' | 'eraseOfAll'>) {
  return {
    find: async (id: string): Promise<NodeRow | undefined> =>
      (await database.system().findOne(NodeTable, { id })) ?? undefined,

    count: (): Promise<number> => database.system().count(NodeTable),

    /** A page, those seen last first, and the number of all. */
    page: (page: Page): Promise<[NodeRow[], number]> =>
      database.system().findAndCount(NodeTable, {}, { orderBy: { lastSeenAt: 'desc', id: 'asc' }, ...page }),

    /** Nodes that may be asked: seen recently, and not contested. */
    healthy: (now: Date, limit: number): Promise<NodeRow[]> =>
      database
        .system()
        .find(
          NodeTable,
          { rivalKey: null, lastSeenAt: { $gte: new Date(now.getTime() - TTL_S * 1000) } },
          { orderBy: { id: 'asc' }, limit },
        ),

    /** False where the id exists already. */
    insert: (node: NodeRow): Promise<boolean> => isNew(database.system().insert(NodeTable, node)),

    /** Changes a node, which is locked meanwhile. `change` gets undefined where there is none, and may throw. */
    change<T>(id: string, change: (node: NodeRow | undefined, write: WriteNode) => Promise<T>): Promise<T> {
      return database.transaction(async (entities) => {
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
        const node = (await entities.findOne(NodeTable, { id }, lock)) ?? undefined;
        return change(node, (columns) => entities.nativeUpdate(NodeTable, { id }, columns));
      }, RETRY_RACES);
    },

    async seen(id: string, at: Date): Promise<void> {
      await database.system().nativeUpdate(NodeTable, { id }, { lastSeenAt: at });
    },

    /** Deletes a node and what it promotes. What it has revoked stays revoked. */
    remove: (id: string): Promise<void> =>
      database.transaction(async (entities) => {
        await entities.nativeDelete(NodeTable, { id });
        await entities.nativeDelete(GeneTable, { nodeId: id, state: 'promoted' });
      }, RETRY_RACES),

    /**
     * Deletes hashes of envelopes that have expired, and would be refused for their timestamp. The signal ends it
     * early.
     */
    forgetSpent: (before: Date, signal: AbortSignal): Promise<void> =>
      eraseExpired(database, SpentTable, { expiresAt: { $lt: before } }, signal),

    /** Marks all of these as spent, or none: false where one of them was before. */
    spend(hashes: readonly string[], expiresAt: Date): Promise<boolean> {
      const spent = hashes.map((id) => ({ id, expiresAt }));
      return isNew(database.system().insertMany(SpentTable, spent));
    },
  };
}

/** Writes columns of the node that is locked. */
type WriteNode = (columns: Partial<NodeRow>) => Promise<unknown>;
