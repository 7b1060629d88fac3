import { isDiskFull } from '../base/durable-file.ts';
import { diskFailure } from './drivers/disk-failures.ts';
import { type ConnectOptions, MEMORY, reason, withoutPassword } from './drivers/driver.ts';
import { DatabaseStartError } from './errors.ts';
import type { Family } from './family.ts';

type Where = Pick<ConnectOptions, 'file' | 'url' | 'setBy'>;

const PLACES: Readonly<Record<Family, (options: Where) => readonly [what: string, where: string]>> = {
  sqlite: ({ file = MEMORY, setBy }) => [`The SQLite file ${file}${setBy ? ` (${setBy})` : ''}`, ''],
  postgres: (where) => ['PostgreSQL', server(where)],
  mysql: (where) => ['MySQL or MariaDB', server(where)],
};

function server({ url = '', setBy = 'DATABASE_URL' }: Where): string {
  return ` at ${setBy}=${withoutPassword(url)}`;
}

/** What operators do about a database that is read-only. */
const WRITABLE: Readonly<Record<Family, string>> = {
  sqlite: 'make the file and its folder writable for the gateway',
  postgres: 'it may be a replica, name the server that takes writes',
  mysql: 'it may be a replica, name the server that takes writes',
};

/** What they do about a full disk. */
const REMEDIES: Readonly<Record<Family, string>> = {
  sqlite: 'make room there, or move the files of the gateway to another disk (SVC_DATA_DIR)',
  postgres: 'make room on the server',
  mysql: 'make room on the server',
};

/** For the operator: the database cannot be opened. */
export function cannotOpen(family: Family, options: Where, cause: unknown): DatabaseStartError {
  if (diskFailure(cause) === 'full' || isDiskFull(cause)) return cannotWrite(family, options, cause);
  const verb = family === 'sqlite' ? 'cannot be opened' : 'cannot be reached';
  const [database, where] = PLACES[family](options);
  return new DatabaseStartError(`${database} ${verb}${where}: ${reason(cause)}`, { cause });
}

/** The same for tables that cannot be made or changed because of the disk; every other error as it is. */
export function asStartFailure(family: Family, options: Where, error: unknown): unknown {
  return diskFailure(error) === undefined ? error : cannotWrite(family, options, error);
}

function cannotWrite(family: Family, options: Where, cause: unknown): DatabaseStartError {
  const what = {
    broken: `its disk reports errors (${reason(cause)})`,
    full: `its disk is full: ${REMEDIES[family]}`,
    'read-only': `it is read-only: ${WRITABLE[family]}`,
  }[diskFailure(cause) ?? 'full'];
  const [database, where] = PLACES[family](options);
  return new DatabaseStartError(`${database}${where} cannot be written, ${what}`, { cause });
}
