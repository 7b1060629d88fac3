import path from 'node:path';
import test from 'ava';
import type { Database } from '../../../foundation/data/database.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gatewayDatabase } from '../../support/databases.ts';

/** What SQLite calls its levels, by their numbers. */
const [NORMAL, FULL] = [1, 2];

async function levelOf(database: Pick<Database, 'system'>): Promise<number> {
  const [row] = await database.system().execute<[{ synchronous: number }]>('pragma synchronous');
  return row.synchronous;
}

for (const [value, level] of [
  [undefined, NORMAL],
  ['full', FULL],
] as const) {
  test(`commits on SQLite wait for the disk where that is asked for: ${value}`, async (t) => {
    const { environment } = (await gatewayDatabase(t, 'sqlite'))!;
    const env = { ...environment, ...(value && { SVC_SQLITE_SYNCHRONOUS: value }) };
    const { folder, gateway, stop } = await startTestGateway({ plugins: [], env });
    t.teardown(stop);
    const { database, openSqlite } = gateway.services;
    t.is(await levelOf(database), level);
    const ofPlugin = await openSqlite(path.join(folder, 'plugin.db'));
    t.teardown(() => ofPlugin.close());
    t.is(await levelOf(ofPlugin), level);
  });
}

test('another value is refused, and named', async (t) => {
  const env = { SVC_SQLITE_SYNCHRONOUS: 'off' };
  await t.throwsAsync(startTestGateway({ plugins: [], env }), { message: /SVC_SQLITE_SYNCHRONOUS/ });
});
