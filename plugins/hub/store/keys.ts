import { type Database, isUniqueViolation } from 'agent-gateway';
import { type KeyRow, KeyTable } from './tables.ts';

/** Keys that one database of a hub has. */
export function createKeyStore(database: Pick<Database, 'system' | 'transaction'>) {
  return {
    /** All of a use, the newest first. */
    of: (use: KeyRow['use']): Promise<KeyRow[]> =>
      database.system().find(KeyTable, { use }, { orderBy: { generation: 'desc' } }),

    /**
     * Makes a key the one in use; those before it are published until `retiresAt`. False where another one of its generation was faster.
     */
    async add(key: KeyRow, retiresAt: Date): Promise<boolean> {
      try {
        await database.transaction(async (entities) => {
          await entities.insert(KeyTable, key);
          const before = { use: key.use, retiresAt: null, generation: { $lt: key.generation } };
          await entities.nativeUpdate(KeyTable, before, { retiresAt });
        });
        return true;
      } catch (error) {
        if (isUniqueViolation(error)) return false;
        throw error;
      }
    },

    /** Forgets keys that are published no more. */
    async forget(before: Date): Promise<void> {
      await database.system().nativeDelete(KeyTable, { retiresAt: { $lt: before } });
    },
  };
}

export type KeyStore = ReturnType<typeof createKeyStore>;
