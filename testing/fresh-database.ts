import { randomBytes } from 'node:crypto';
import { MikroORM as MariaDb } from '@mikro-orm/mariadb';
import { MikroORM as PostgreSql } from '@mikro-orm/postgresql';

/** A database of one test, on a server. */
export interface ServerDatabase {
  /** Connects to it as the role that made it. */
  readonly url: string;
  /** Drops it, also while clients are connected. */
  drop(): Promise<void>;
}

/** The database to connect to where a URL names none. */
const MAINTENANCE = { postgres: 'postgres', mysql: 'mysql' } as const;

/**
 * Makes an empty database on the server that a URL names (`postgres://`, `mysql://`), next to the database in that URL.
 *
 * @throws Error for a URL of another kind, a server that is away, and a role that may not create databases
 */
export async function createDatabase(server: string): Promise<ServerDatabase> {
  const family = familyOf(server);
  const url = new URL(server);
  if (url.pathname.length < 2) url.pathname = MAINTENANCE[family];
  const name = `gateway_test_${randomBytes(8).toString('hex')}`;
  await create(family, url.href, name);
  const own = new URL(url);
  own.pathname = name;
  const drop = family === 'postgres' ? `drop database ${name} with (force)` : `drop database ${name}`;
  return {
    url: own.href,
    drop: async () => {
      await askDatabase(url.href, drop);
    },
  };
}

/** PostgreSQL's code of a statement that it does not understand. */
const SYNTAX_ERROR = '42601';

/**
 * PostgreSQL copies its template; from version 15 on it may copy files, which costs a third of writing each page to its
 * log.
 */
async function create(family: 'postgres' | 'mysql', url: string, name: string): Promise<void> {
  const sql = `create database ${name}`;
  if (family === 'mysql') return void (await askDatabase(url, sql));
  await askDatabase(url, `${sql} strategy file_copy`).catch((error) => {
    // Of an older version.
    if (error.code !== SYNTAX_ERROR) throw error;
    return askDatabase(url, sql);
  });
}

/** @throws Error for a URL of no server that is known */
export function familyOf(url: string): 'postgres' | 'mysql' {
  if (/^postgres(?:ql)?:/.test(url)) return 'postgres';
  if (/^(?:mysql|mariadb):/.test(url)) return 'mysql';
  throw new Error(`"${url}" is no database: say sqlite, or a URL that begins with postgres:// or mysql://`);
}

/** Asks a database past the gateway, as the role of the URL. */
export function askDatabase(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const settings = { entities: [], discovery: { warnWhenNoEntities: false }, clientUrl: url };
  return withOrm(familyOf(url) === 'postgres' ? new PostgreSql(settings) : new MariaDb(settings), sql);
}

async function withOrm(orm: PostgreSql | MariaDb, sql: string): Promise<Record<string, unknown>[]> {
  try {
    await orm.connect();
    return await orm.driver.getConnection().execute(sql);
  } finally {
    await orm.close(true);
  }
}
