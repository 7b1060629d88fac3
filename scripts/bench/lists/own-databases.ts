import { access, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { MikroORM as MariaDb } from '@mikro-orm/mariadb';
import { MikroORM as PostgreSql } from '@mikro-orm/postgresql';
import type { Family } from '../../../foundation/data/family.ts';

/** A database of the benchmark's own. */
export interface OwnDatabase {
  readonly family: Family;
  /** Where it is, for `openDatabase`. */
  readonly place: { readonly url: string } | { readonly file: string };
  /** The same for a gateway. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Makes the server collect the statistics of its tables, as it does by itself after a while. SQLite does not do that,
   * so nothing is done for it.
   */
  analyze(): Promise<void>;
  drop(): Promise<void>;
}

const SERVERS = {
  postgres: process.env.BENCH_POSTGRES ?? 'postgres://root@127.0.0.1:5432',
  mysql: process.env.BENCH_MYSQL ?? 'mysql://root@127.0.0.1:3306',
} as const;
/** The databases to which to connect in order to make another one. */
const ENTRANCES = { postgres: 'postgres', mysql: 'mysql' } as const;

/** The database of this name, and whether it is there already. Made where it is not; a SQLite file lies in `folder`. */
export async function ownDatabase(
  family: Family,
  name: string,
  folder: string,
): Promise<OwnDatabase & { readonly isNew: boolean }> {
  if (family === 'sqlite') return ownFile(path.join(folder, name));
  const entrance = `${SERVERS[family]}/${ENTRANCES[family]}`;
  const url = `${SERVERS[family]}/${name}`;
  const found = await ask(
    family,
    entrance,
    family === 'postgres'
      ? `select datname from pg_database where datname = '${name}'`
      : `show databases like '${name}'`,
  );
  if (found.length === 0) await ask(family, entrance, `create database ${name}`);
  return {
    family,
    isNew: found.length === 0,
    place: { url },
    environment: { DATABASE_DRIVER: family, DATABASE_URL: url },
    analyze: () => analyze(family, url),
    async drop() {
      await ask(family, entrance, `drop database ${name}${family === 'postgres' ? ' with (force)' : ''}`);
    },
  };
}

async function ownFile(folder: string) {
  const file = path.join(folder, 'gateway.db');
  const isNew = await access(file).then(
    () => false,
    () => true,
  );
  await mkdir(folder, { recursive: true });
  return {
    family: 'sqlite' as const,
    isNew,
    place: { file },
    environment: { DATABASE_DRIVER: 'sqlite', SVC_DATA_DIR: folder },
    async analyze() {},
    drop: () => rm(folder, { recursive: true }),
  };
}

async function analyze(family: 'postgres' | 'mysql', url: string): Promise<void> {
  if (family === 'postgres') {
    // Also marks which pages every transaction sees, without which no answer comes from an index alone.
    await ask(family, url, 'vacuum (analyze)');
    return;
  }
  const tables = await ask(family, url, 'show tables');
  for (const table of tables) await ask(family, url, `analyze table \`${Object.values(table)[0]}\``);
}

const bare = { entities: [], discovery: { warnWhenNoEntities: false } };

async function ask(
  family: 'postgres' | 'mysql',
  clientUrl: string,
  sql: string,
): Promise<Record<string, unknown>[]> {
  const settings = { ...bare, clientUrl };
  const orm = family === 'postgres' ? new PostgreSql(settings) : new MariaDb(settings);
  try {
    await orm.connect();
    return await orm.driver.getConnection().execute(sql);
  } finally {
    await orm.close(true);
  }
}
