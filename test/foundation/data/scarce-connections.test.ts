import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../../foundation/data/database.ts';
import { APPLICATION_ROLE } from '../../../foundation/data/row-level-security.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';

/** Connections that the server gives to the role of a test. */
const GIVEN = 2;

const SLEEP = { postgres: 'select pg_sleep(0.05)', mysql: 'select sleep(0.05)' } as const;

/** A role that gets few connections, and the URL with which it uses the database. */
async function scarceRole(t: ExecutionContext, fresh: FreshDatabase): Promise<string> {
  const role = `gateway_test_${randomBytes(6).toString('hex')}`;
  const url = new URL(fresh.options.url ?? '');
  const account = fresh.family === 'postgres' ? role : `'${role}'@'${url.hostname}'`;
  const make =
    fresh.family === 'postgres'
      ? [
          `create role ${role} login connection limit ${GIVEN}`,
          `do $$ begin create role ${APPLICATION_ROLE} nologin; exception when duplicate_object then null; end $$`,
          `grant ${APPLICATION_ROLE} to ${role}`,
        ]
      : [
          `create user ${account} identified by '${role}' with max_user_connections ${GIVEN}`,
          `grant all on ${url.pathname.slice(1)}.* to ${account}`,
        ];
  for (const statement of make) await fresh.ask(statement);
  t.teardown(async () => {
    await fresh.ask(fresh.family === 'postgres' ? `drop role ${role}` : `drop user ${account}`);
  });
  url.username = role;
  url.password = role;
  return url.href;
}

for (const family of ['postgres', 'mysql'] as const) {
  test(`${family}: who gets no connection since the server gives no more waits for one that is lent`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    const url = await scarceRole(t, fresh);
    const database = await openDatabase({ ...fresh.options, url });
    t.teardown(() => database.close());
    const ask = () => database.system().execute(SLEEP[family]);
    await t.notThrowsAsync(Promise.all(Array.from({ length: 12 }, ask)));
    await t.notThrowsAsync(Promise.all(Array.from({ length: 12 }, ask)), 'again');
  });
}
