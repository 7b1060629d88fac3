import { type Database, isDatabaseUnavailable, type TenantEntityManager } from 'agent-gateway';

/** Work inside a transaction. It may be run again when the transaction fails. */
export type TransactionWork = (entities: TenantEntityManager) => Promise<void>;

/** Transactions that may be shared. */
export interface SharedTransactions {
  /** Resolves when the work is committed; rejects with what the work threw, or what kept it from being committed. */
  run(tenantId: string, work: TransactionWork): Promise<void>;
}

/** How often a transaction that lost a race in the database is tried again. */
const RETRIES = 5;
/** Works that share a transaction at most: who waits for the file waits for all of them. */
const MAX_SHARED = 32;

interface Waiting {
  readonly work: TransactionWork;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Runs works in transactions. A commit to SQLite costs as much as all that is written in it, and there is one writer anyway: there, what one tenant
 * has ready in the same turn of the event loop is committed together. A work that fails is taken out: the others are done without it. The servers, which do this by
 * themselves, get a transaction for each.
 */
export function createSharedTransactions(
  database: Pick<Database, 'forTenant' | 'family'>,
): SharedTransactions {
  const transact = (tenantId: string, work: TransactionWork) =>
    database.forTenant(tenantId).transaction(work, { retries: RETRIES });
  if (database.family !== 'sqlite') return { run: transact };
  const waiting = new Map<string, Waiting[]>();

  async function settle(tenantId: string, { work, resolve, reject }: Waiting): Promise<void> {
    try {
      await transact(tenantId, work);
      resolve();
    } catch (error) {
      reject(error);
    }
  }

  async function commit(tenantId: string, together: readonly Waiting[]): Promise<void> {
    if (together.length > 1) {
      try {
        await transact(tenantId, async (entities) => {
          for (const { work } of together) await work(entities);
        });
        for (const { resolve } of together) resolve();
        return;
      } catch (error) {
        // Each on its own would wait as long again for the same answer.
        if (isDatabaseUnavailable(error)) {
          for (const { reject } of together) reject(error);
          return;
        }
        // Nothing of it was written; whose failure it is shows when each is on its own.
      }
    }
    for (const each of together) await settle(tenantId, each);
  }

  async function flush(tenantId: string): Promise<void> {
    const all = waiting.get(tenantId) ?? [];
    waiting.delete(tenantId);
    for (let start = 0; start < all.length; start += MAX_SHARED) {
      await commit(tenantId, all.slice(start, start + MAX_SHARED));
    }
  }

  return {
    run(tenantId, work) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const known = waiting.get(tenantId);
      if (known === undefined) {
        waiting.set(tenantId, [{ work, resolve, reject }]);
        setImmediate(flush, tenantId);
      } else {
        known.push({ work, resolve, reject });
      }
      return promise;
    },
  };
}
