import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MikroORM as MariaDb } from '@mikro-orm/mariadb';
import { MikroORM as PostgreSql } from '@mikro-orm/postgresql';
import pino from 'pino';
import { readKernelSettings } from '../../foundation/config/kernel-settings.ts';
import { migrateGateway } from '../../kernel/migrate.ts';
import { createDatabase, dropDatabase } from '../../testing/fresh-database.ts';
import { putMigratedFile } from '../../testing/migrated-file.ts';
import { joinRun, type RunPool, runFolder } from './run-pool.ts';

/**
 * Databases on servers: with the tables of the kernel and of all bundled plugins, or empty. Making these costs a server
 * more than what most tests do with them, so each is lent to one test after the other of a run, whichever process they
 * are in. In between it becomes what it was: the same tables, and only the rows that migrations write, or none. One
 * that a test has changed otherwise, or to which a connection is still open, is dropped instead.
 */

type Server = 'postgres' | 'mysql';

/** A database that one test has. */
export interface Lent {
  readonly url: string;
  giveBack(): Promise<void>;
}

/** One of the pool: where it is, and what it looked like at first. */
interface Pooled {
  readonly server: string;
  readonly url: string;
  readonly shape: string;
}

interface Empty extends Pooled {
  /** Of the schema that a new database has; another one in older versions. */
  readonly owner: string;
}

interface WithTables extends Pooled {
  readonly tables: readonly string[];
  /** Those in which migrations wrote rows; a copy of each is kept in another schema. */
  readonly kept: readonly string[];
}

type Ask = <T = Record<string, unknown>>(sql: string) => Promise<T[]>;

/** Makes an SQLite file with the same tables; those of a run are copies of one. */
export async function putTables(file: string): Promise<void> {
  const make = (first: string) => putMigratedFile(first, undefined, { atOnce: true });
  await (await poolOfRun()).copy('bundled', file, make);
}

/** Lends one with tables that is idle, or a new one. `server`: the URL of the server. */
export function lend(family: Server, server: string): Promise<Lent> {
  return lendOf<WithTables>(family, {
    make: () => make(family, server),
    reset: (pooled) => reset(family, pooled),
    discard: (pooled) => discard(family, pooled),
  });
}

/**
 * The same with a database of PostgreSQL that is empty. Of PostgreSQL only, which copies hundreds of files for each and
 * writes all that it has in memory to the disk; MariaDB makes a folder.
 */
export function lendEmpty(server: string): Promise<Lent> {
  return lendOf<Empty>(EMPTY, { make: () => makeEmpty(server), reset: empty, discard: drop });
}

interface Ways<P> {
  make(): Promise<P>;
  /** Makes it what it was. False: it cannot be. */
  reset(pooled: P): Promise<boolean>;
  discard(pooled: P): Promise<void>;
}

const EMPTY = 'empty';

async function lendOf<P extends Pooled>(kind: Server | typeof EMPTY, ways: Ways<P>): Promise<Lent> {
  const pool = await poolOfRun();
  const pooled = (await pool.take<P>(kind)) ?? (await ways.make());
  return {
    url: pooled.url,
    giveBack: async () => {
      if (await ways.reset(pooled)) await pool.put(kind, pooled);
      else await ways.discard(pooled);
    },
  };
}

let joined: Promise<RunPool> | undefined;

function poolOfRun(): Promise<RunPool> {
  joined ??= join();
  return joined;
}

/**
 * The last process of the run drops what is idle when its tests have ended. AVA cannot be imported by the processes
 * that tests start.
 */
async function join(): Promise<RunPool> {
  const pool = await joinRun(runFolder());
  const { registerCompletionHandler } = await import('ava');
  registerCompletionHandler(() => pool.leave(() => dropIdle(pool)));
  return pool;
}

async function dropIdle(pool: RunPool): Promise<void> {
  for (const kind of ['postgres', 'mysql', EMPTY] as const) {
    for (;;) {
      const pooled = await pool.take<Pooled>(kind);
      if (pooled === undefined) break;
      await (kind === EMPTY ? drop(pooled) : discard(kind, pooled));
    }
  }
}

async function discard(family: Server, pooled: Pooled): Promise<void> {
  const { url } = pooled;
  if (family === 'mysql') await asking(family, url, (ask) => ask(`drop database ${KEPT.mysql(url)}`));
  await drop(pooled);
}

function drop({ server, url }: Pooled): Promise<void> {
  return dropDatabase(server, url);
}

/** Where copies of rows are kept. MariaDB's schemas are databases. */
const KEPT = {
  postgres: () => 'kept',
  mysql: (url: string) => `${new URL(url).pathname.slice(1)}_kept`,
} as const;

async function make(family: Server, server: string): Promise<WithTables> {
  const { url } = await createDatabase(server);
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-tables-'));
  try {
    const settings = readKernelSettings({
      DATABASE_DRIVER: family,
      DATABASE_URL: url,
      SVC_DATA_DIR: folder,
      SVC_CONFIG: path.join(folder, 'gateway.yaml'),
    });
    await migrateGateway({ settings, log: pino({ enabled: false }) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return asking(family, url, async (ask) => {
    const tables = await tablesOf(ask, family);
    const kept = await withRows(ask, tables);
    const schema = KEPT[family](url);
    await ask(`create schema ${schema}`);
    for (const table of kept) await ask(`create table ${schema}.${table} as select * from ${table}`);
    return { server, url, tables, kept, shape: await shapeOf(ask, family) };
  });
}

async function tablesOf(ask: Ask, family: Server): Promise<readonly string[]> {
  return (await ask<{ name: string }>(TABLES[family])).map(({ name }) => name);
}

/** Removes what a test has left. False: something is left that cannot be removed so. */
async function reset(family: Server, { url, tables, kept, shape }: WithTables): Promise<boolean> {
  return asking(family, url, async (ask) => {
    if (!(await isAlone(ask, family))) return false;
    // Those of plugins that a test made, and of hints, which bear the name of the deployment.
    const more = (await tablesOf(ask, family)).filter((table) => !tables.includes(table));
    if (family === 'mysql') await ask(WITHOUT_REFERENCES.mysql);
    for (const table of more) await ask(`drop table ${QUOTED[family](table)} cascade`);
    if ((await shapeOf(ask, family)) !== shape) return false;
    const written = [...new Set([...kept, ...(await withRows(ask, tables))])];
    await ask('begin');
    await ask(WITHOUT_REFERENCES[family]);
    for (const table of written) await ask(`delete from ${table}`);
    for (const table of kept) await ask(`insert into ${table} select * from ${KEPT[family](url)}.${table}`);
    await ask('commit');
    return true;
  });
}

async function makeEmpty(server: string): Promise<Empty> {
  const { url } = await createDatabase(server);
  return asking('postgres', url, async (ask) => {
    const [schema] = await ask<{ owner: string }>(OWNER);
    return { server, url, owner: schema!.owner, shape: await shapeOf(ask, 'postgres') };
  });
}

/** Removes all schemas and makes the one that a new database has. False: something else is left. */
async function empty({ url, owner, shape }: Empty): Promise<boolean> {
  return asking('postgres', url, async (ask) => {
    if (!(await isAlone(ask, 'postgres'))) return false;
    for (const { name } of await ask<{ name: string }>(SCHEMAS)) await ask(`drop schema "${name}" cascade`);
    await ask('create schema public');
    await ask(`alter schema public owner to ${owner}`);
    await ask('grant usage on schema public to public');
    return (await shapeOf(ask, 'postgres')) === shape;
  });
}

const SCHEMAS = `select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'`;
const OWNER = `select nspowner::regrole::text as owner from pg_namespace where nspname = 'public'`;

async function withRows(ask: Ask, tables: readonly string[]): Promise<readonly string[]> {
  const each = tables.map((table) => `select '${table}' as name where exists (select 1 from ${table})`);
  return (await ask<{ name: string }>(each.join(' union all '))).map(({ name }) => name);
}

/** How often, 20 ms apart, it is looked whether connections that were closed have ended at the server. */
const LOOKS = 50;

async function isAlone(ask: Ask, family: Server): Promise<boolean> {
  for (let look = 0; look < LOOKS; look += 1) {
    if ((await ask(OTHERS[family])).length === 0) return true;
    await pause(20);
  }
  return false;
}

async function shapeOf(ask: Ask, family: Server): Promise<string> {
  const [row] = await ask<{ shape: string }>(SHAPE[family]);
  return row!.shape;
}

const TABLES = {
  postgres: `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  mysql: `select table_name as name from information_schema.tables where table_schema = database() and table_type = 'BASE TABLE'`,
};

const QUOTED = { postgres: (name: string) => `"${name}"`, mysql: (name: string) => `\`${name}\`` };

/** Other connections to this database. */
const OTHERS = {
  postgres: 'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  mysql: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
};

const WITHOUT_REFERENCES = {
  postgres: 'set local session_replication_role = replica',
  mysql: 'set foreign_key_checks = 0',
};

/**
 * Tables, columns, indexes, references, rules, rights: everything that a test may change besides rows, as one value.
 */
const SHAPE = {
  postgres: `
    select md5(string_agg(part, chr(10) order by part)) as shape from (
      select concat_ws('|', 'schema', nspname, nspowner, nspacl) as part from pg_namespace where nspname !~ '^pg_'
      union all select concat_ws('|', 'database', datdba, datacl, datconnlimit, datallowconn) from pg_database
      where datname = current_database()
      union all select concat_ws('|', 'defaults', defaclrole, defaclobjtype, defaclacl) from pg_default_acl
      union all select concat_ws('|', 'extension', extname) from pg_extension
      union all select concat_ws('|', 'prepared', gid) from pg_prepared_xacts where database = current_database()
      union all select concat_ws('|', 'database', setdatabase, setconfig) from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())
      union all select concat_ws('|', 'table', oid, relname, relkind, relacl, relrowsecurity, relforcerowsecurity)
      from pg_class where relnamespace = 'public'::regnamespace
      union all select concat_ws('|', 'column', attrelid, attname, atttypid, atttypmod, attnotnull, attisdropped, attacl)
      from pg_attribute join pg_class on pg_class.oid = attrelid where relnamespace = 'public'::regnamespace
      union all select concat_ws('|', 'constraint', conrelid, conname, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace = 'public'::regnamespace
      union all select concat_ws('|', 'policy', polrelid, polname, polroles) from pg_policy
      union all select concat_ws('|', 'trigger', tgrelid, tgname, tgenabled) from pg_trigger where not tgisinternal
      union all select concat_ws('|', 'function', oid, proname, prosrc) from pg_proc where pronamespace = 'public'::regnamespace
    ) as parts`,
  mysql: `
    select md5(group_concat(part order by part separator '\\n')) as shape from (
      select concat_ws('|', 'table', table_name, table_type, engine, table_collation) as part
      from information_schema.tables where table_schema = database()
      union all select concat_ws('|', 'column', table_name, column_name, column_type, is_nullable, column_default)
      from information_schema.columns where table_schema = database()
      union all select concat_ws('|', 'index', table_name, index_name, seq_in_index, column_name, non_unique)
      from information_schema.statistics where table_schema = database()
      union all select concat_ws('|', 'trigger', trigger_name, action_statement)
      from information_schema.triggers where trigger_schema = database()
    ) as parts`,
};

/** MariaDB cuts what it joins off, silently. */
const WHOLE_SHAPE = 'set group_concat_max_len = 16777216';

/** Runs statements over one connection. */
async function asking<T>(family: Server, url: string, run: (ask: Ask) => Promise<T>): Promise<T> {
  const common = { entities: [], discovery: { warnWhenNoEntities: false }, clientUrl: url, pool: { max: 1 } };
  const orm = family === 'postgres' ? new PostgreSql(common) : new MariaDb(common);
  try {
    await orm.connect();
    const connection = orm.driver.getConnection();
    const ask: Ask = (sql) => connection.execute(sql);
    if (family === 'mysql') await ask(WHOLE_SHAPE);
    return await run(ask);
  } finally {
    await orm.close(true);
  }
}
