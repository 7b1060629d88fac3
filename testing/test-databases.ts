import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDatabase } from './fresh-database.ts';

/**
 * On what tests run, by name: `sqlite`; `postgres` where the variable `TEST_POSTGRES_URL` names a server, `mysql` where
 * `TEST_MYSQL_URL` does. What it gives is for `database` of `startTestGateway`, `databases` of `pluginConformance`, and
 * `freshDatabase`.
 *
 * @example
 * for (const [name, database] of Object.entries(testDatabases())) {
 *   test(`it keeps notes (${name})`, async () => {
 *     await using gateway = await startTestGateway({ plugins: [notes], database });
 *   });
 * }
 */
export function testDatabases(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string>> {
  const { TEST_POSTGRES_URL: postgres, TEST_MYSQL_URL: mysql } = env;
  return { sqlite: 'sqlite', ...(postgres && { postgres }), ...(mysql && { mysql }) };
}

/** An empty database, for gateways that run side by side or one after the other. Disposing it drops it. */
export interface TestDatabase extends AsyncDisposable {
  /** For `env` of `startTestGateway`. */
  readonly env: { readonly DATABASE_URL: string };
}

/**
 * Makes an empty database.
 *
 * @param database `sqlite`, or the URL of a server whose role may create databases; it is made next to the one that the
 * URL names
 * @throws Error for a URL of another kind, a server that is away, and a role that may not create databases
 */
export async function freshDatabase(database: string): Promise<TestDatabase> {
  if (database !== 'sqlite') {
    const { url, drop } = await createDatabase(database);
    return { env: { DATABASE_URL: url }, [Symbol.asyncDispose]: drop };
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-database-'));
  return {
    env: { DATABASE_URL: `sqlite:${path.join(folder, 'gateway.db')}` },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
