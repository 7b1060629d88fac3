import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Database, KernelErrors, type KernelServices } from 'agent-gateway';
import { migrations } from '../store/migrations.ts';
import { entities } from '../store/tables.ts';

/** The database of the hub. */
export interface HubDatabase {
  readonly database: Database;
  /** No other process uses it. */
  readonly isAlone: boolean;
  close(): Promise<void>;
}

type Services = Pick<KernelServices, 'database' | 'openSqlite' | 'dataDir'>;

/**
 * The file of the hub's own database, absolute; undefined where the gateway's database is a server, which all replicas
 * share.
 */
export function ownFile({ database, dataDir }: Services, dbPath: string): string | undefined {
  return database.family === 'sqlite' ? path.resolve(dataDir, dbPath) : undefined;
}

/** Whether an earlier process may have left work in the database. */
export function isUsed(services: Services, dbPath: string): boolean {
  const file = ownFile(services, dbPath);
  return file === undefined || existsSync(file);
}

/**
 * Opens it: a file of its own where the gateway uses SQLite, else the gateway's own database, in which the host has
 * made the tables.
 *
 * @throws gateway.unavailable where the file cannot be opened; the cause, for the log, says why
 */
export async function openHubDatabase(services: Services, dbPath: string): Promise<HubDatabase> {
  const file = ownFile(services, dbPath);
  if (file === undefined) return { database: services.database, isAlone: false, close: async () => {} };
  const unavailable = (cause: unknown) =>
    KernelErrors.unavailable('The database of the hub cannot be opened', { cause });
  const database = await services.openSqlite(file).catch((error: unknown) => {
    throw unavailable(error);
  });
  try {
    const registered = await database.register({ owner: 'hub', entities, migrations });
    return {
      database,
      isAlone: true,
      async close() {
        registered.release();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw unavailable(error);
  }
}
