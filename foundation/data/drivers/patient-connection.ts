import { Mutex } from '../../base/semaphore.ts';
import type { MigrationQueries } from '../migration.ts';
import type { FamilyDriver } from './driver.ts';

/**
 * Milliseconds after the last use in which another one finds the connection open: the owners of a start are migrated
 * one after the other.
 */
const KEPT_MS = 1_000;

/** One connection beside the pool, whose statements may take as long as they need. */
export type PatientConnection = ReturnType<typeof createPatientConnection>;

/** Connects at the first use, and closes a second after the last one. */
export function createPatientConnection(connect: () => Promise<FamilyDriver>) {
  const mutex = new Mutex();
  let driver: FamilyDriver | undefined;
  let closing: NodeJS.Timeout | undefined;

  async function close(): Promise<void> {
    clearTimeout(closing);
    const open = driver;
    driver = undefined;
    await open?.orm.close(true);
  }

  return {
    /** Lends it; who comes meanwhile waits. */
    lend: <T>(work: (queries: MigrationQueries) => Promise<T>): Promise<T> =>
      mutex.run(async () => {
        clearTimeout(closing);
        driver ??= await connect();
        try {
          return await work(driver.orm.driver.getConnection().getClient());
        } finally {
          // What cannot be closed in order is a socket to a server that is away.
          closing = setTimeout(() => void mutex.run(close).catch(() => {}), KEPT_MS).unref();
        }
      }),
    close: () => mutex.run(close),
  };
}
