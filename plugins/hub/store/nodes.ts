import { LockMode } from '@mikro-orm/core';
import { type Database, eraseExpired, isUniqueViolation, type Page, RETRY_RACES } from 'agent-gateway';
import type { Candidate } from '../rules/choice.ts';
import { TTL_S } from '../rules/registration.ts';
import { isNew } from './is-new.ts';
import { GeneTable, type NodeRow, NodeTable, SpentTable } from './tables.ts';

/** Nodes that one database of a hub knows. */
export type NodeStore = ReturnType<typeof createNodeStore>;

export function createNodeStore(database: Pick<Database, 'system' | 'transaction' | 'eraseOfAll'>) {
  return {
    find: async (id: string): Promise<NodeRow | undefined> =>
      (await database.system().findOne(NodeTable, { id })) ?? undefined,

    /** The nodes with these ids, as far as they exist. */
    findAll: (ids: readonly string[]): Promise<NodeRow[]> =>
      database.system().find(NodeTable, { id: { $in: [...ids] } }),

    /** A page, those seen last first, and the number of all. */
    page: (page: Page): Promise<[NodeRow[], number]> =>
      database.system().findAndCount(NodeTable, {}, { orderBy: { lastSeenAt: 'desc', id: 'asc' }, ...page }),

    /** Nodes that may be asked: seen recently, and not contested. */
    healthy: (now: Date): Promise<Candidate[]> =>
      database
        .system()
        .createQueryBuilder(NodeTable, 'n')
        .select(['id', 'owner'])
        .where({ rivalKey: null, lastSeenAt: { $gte: new Date(now.getTime() - TTL_S * 1000) } })
        // As plain rows: each search reads all of them.
        .execute<Candidate[]>('all'),

    /**
     * Adds a node, unless its id exists already, or its owner, or the hub, has reached the limit. Concurrent calls are
     * counted one after the other.
     */
    async add(
      node: NodeRow & { readonly owner: string },
      limits: { readonly ofOwner: number; readonly all: number },
    ): Promise<'added' | 'known' | 'owner' | 'all'> {
      const { id, owner } = node;
      try {
        return await database.transaction(async (entities) => {
          // The lock on the hub's first node keeps two concurrent calls from both taking the last place. Not that on
          // the owner's first one: a node that gets an owner later may come before it.
          const first = { fields: ['id'], orderBy: { registeredAt: 'asc', id: 'asc' }, limit: 1 } as const;
          await entities.find(NodeTable, {}, { ...first, lockMode: LockMode.PESSIMISTIC_WRITE });
          if ((await entities.count(NodeTable, { id })) > 0) return 'known';
          if ((await entities.count(NodeTable, { owner })) >= limits.ofOwner) return 'owner';
          if ((await entities.count(NodeTable)) >= limits.all) return 'all';
          await entities.insert(NodeTable, node);
          return 'added';
        }, RETRY_RACES);
      } catch (error) {
        // While there is no node yet, nothing is locked.
        if (isUniqueViolation(error)) return 'known';
        throw error;
      }
    },

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
