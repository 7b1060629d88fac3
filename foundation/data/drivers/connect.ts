import type { Family } from '../family.ts';
import type { ConnectOptions, FamilyDriver } from './driver.ts';

/** Connects to a database of the given family, loading no driver but its own. */
export async function connect(family: Family, options: ConnectOptions): Promise<FamilyDriver> {
  switch (family) {
    case 'sqlite':
      return (await import('./sqlite.ts')).connectSqlite(options);
    case 'postgres':
      return (await import('./postgres.ts')).connectPostgres(options);
    case 'mysql':
      return (await import('./mysql.ts')).connectMySql(options);
  }
}
