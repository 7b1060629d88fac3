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

/** Milliseconds after which a database is one that a killed process left: no tests take that long. */
const ABANDONED = 86_400_000;
/** How tests name their databases: with the time, and what makes it unique. What follows belongs to that database. */
const NAME = /^gateway_test_([0-9a-f]{12})_[0-9a-f]{16}(?:_[a-z]+)?$/;
const NAMES = {
  postgres: 'select datname as name from pg_database',
  mysql: 'select schema_name as name from information_schema.schemata',
} as const;

/**
 * Makes an empty database on the server that a URL names (`postgres://`, `mysql://`), next to the database in that URL.
 * Drops those that killed processes left there more than a day ago.
 *
 * @throws Error for a URL of another kind, a server that is away, and a role that may not create databases
 */
export async function createDatabase(server: string): Promise<ServerDatabase> {
  const family = familyOf(server);
  const url = maintenanceOf(server);
  const name = `gateway_test_${Date.now().toString(16).padStart(12, '0')}_${randomBytes(8).toString('hex')}`;
  await connected(url, async (ask) => {
    await dropAbandoned(family, ask);
    await create(family, ask, name);
  });
  const own = new URL(url);
  own.pathname = name;
  return { url: own.href, drop: () => dropDatabase(url, own.href) };
}

/**
 * Drops a database, also while clients are connected.
 *
 * @param server as for `createDatabase`
 */
export async function dropDatabase(server: string, database: string): Promise<void> {
  const force = familyOf(server) === 'postgres' ? ' with (force)' : '';
  await askDatabase(maintenanceOf(server), `drop database ${new URL(database).pathname.slice(1)}${force}`);
}

function maintenanceOf(server: string): string {
  const url = new URL(server);
  if (url.pathname.length < 2) url.pathname = MAINTENANCE[familyOf(server)];
  return url.href;
}

type Ask = (sql: string) => Promise<Record<string, unknown>[]>;

async function dropAbandoned(family: 'postgres' | 'mysql', ask: Ask): Promise<void> {
  for (const { name } of await ask(NAMES[family])) {
    const time = Number.parseInt(NAME.exec(String(name))?.[1] ?? '', 16);
    // It may be another role's, and another process may be dropping it.
    if (Date.now() - time > ABANDONED) await ask(`drop database ${name}`).catch(() => {});
  }
}

/** PostgreSQL's code of a statement that it does not understand. */
const SYNTAX_ERROR = '42601';

/**
 * PostgreSQL copies its template; from version 15 on it may copy files, which costs a third of writing each page to its
 * log.
 */
async function create(family: 'postgres' | 'mysql', ask: Ask, name: string): Promise<void> {
  const sql = `create database ${name}`;
  if (family === 'mysql') return void (await ask(sql));
  await ask(`${sql} strategy file_copy`).catch((error) => {
    // Of an older version.
    if (error.code !== SYNTAX_ERROR) throw error;
    return ask(sql);
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
  return connected(url, (ask) => ask(sql));
}

async function connected<T>(url: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const settings = { entities: [], discovery: { warnWhenNoEntities: false }, clientUrl: url };
  const orm = familyOf(url) === 'postgres' ? new PostgreSql(settings) : new MariaDb(settings);
  try {
    await orm.connect();
    return await work((sql) => orm.driver.getConnection().execute(sql));
  } finally {
    await orm.close(true);
  }
}
