import type { Database } from 'agent-gateway';
import { isNew } from './is-new.ts';
import { type KeyRow, KeyTable } from './tables.ts';

/** Keys that one database of a hub has. */
export function createKeyStore(database: Pick<Database, 'system' | 'transaction'>) {
  return {
    /** All of a use, the newest first. */
    of: (use: KeyRow['use']): Promise<KeyRow[]> =>
      database.system().find(KeyTable, { use }, { orderBy: { generation: 'desc' } }),

    /**
     * Makes a key the one in use; earlier keys are published until `retiresAt`. False where another key of its
     * generation was stored first.
     */
    add: (key: KeyRow, retiresAt: Date): Promise<boolean> =>
      isNew(
        database.transaction(async (entities) => {
          await entities.insert(KeyTable, key);
          const before = { use: key.use, retiresAt: null, generation: { $lt: key.generation } };
          await entities.nativeUpdate(KeyTable, before, { retiresAt });
        }),
      ),

    /** Replaces the stored form of a private key; the key itself never changes. */
    async reseal(id: string, privateKey: string): Promise<void> {
      await database.system().nativeUpdate(KeyTable, { id }, { privateKey });
    },

    /** Deletes keys that are no longer published. */
    async forget(before: Date): Promise<void> {
      await database.system().nativeDelete(KeyTable, { retiresAt: { $lt: before } });
    },
  };
}

export type KeyStore = ReturnType<typeof createKeyStore>;
