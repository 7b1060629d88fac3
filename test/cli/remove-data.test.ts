import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { openDatabase } from '../../foundation/data/database.ts';
import { registerKernelTables } from '../../foundation/gateway-tables.ts';
import { eachDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import { outcomeOf, run } from './command.ts';

const HOUR = 3_600_000;

eachDatabase(
  test,
  'the data of a plugin that is gone are shown, and removed with nothing else',
  async (t, fresh) => {
    const folder = await temporaryFolder(t);
    const database = await openDatabase(fresh.options);
    await registerKernelTables(database);
    for (const owner of ['weather', 'weather-maps']) {
      const table = owner.replace('-', '_');
      await database.register({
        owner,
        entities: [],
        migrations: [
          {
            name: '001-initial',
            up: (schema, types, queries) => [
              schema.createTable(table).addColumn('id', types.id, (is) => is.notNull().primaryKey()),
              queries.insertInto(table).values([{ id: 'a' }, { id: 'b' }]),
            ],
          },
        ],
      });
      await fresh.ask(`insert into kernel_schedules (name, next_at) values ('${owner}.tidy', 1)`);
      await fresh.ask(
        `insert into kernel_subscriptions (queue, event, attempts, seen_at) values ('${owner}.on.shop.paid', 'shop.paid', 3, 1)`,
      );
    }
    const work = (due: number) =>
      fresh.ask(
        `insert into kernel_jobs (id, tenant_id, queue, state, payload, attempt, max_attempts, created_at, due_at)
       values ('j1', '-', 'weather.send', 'running', '{}', 1, 3, 1, ${due})`,
      );
    await work(Date.now() + HOUR);
    await database.close();
    const remove = (...options: string[]) =>
      outcomeOf(folder, ['plugins', 'remove', 'weather', '--with-data', ...options], fresh.environment);

    t.regex((await remove('--yes')).stderr, /^a replica works for weather: 1 jobs or leases are in hand/);
    await fresh.ask('update kernel_jobs set due_at = 1');

    const asked = await remove();
    t.is(asked.code, 1);
    t.is(
      asked.stderr,
      `Of weather:
  weather               the table, with 2 rows
  kernel_subscriptions  rows of it, of 1 row
  kernel_jobs           rows of it, of 1 row
  kernel_schedules      rows of it, of 1 row
  1 migrations that were applied
Nothing was removed: without a terminal, --yes has to agree
`,
    );
    t.is((await fresh.ask('select id from weather')).length, 2);

    const removed = await remove('--yes');
    t.is(removed.code, 0, removed.stderr);
    t.regex(removed.stdout, /All of this was removed/);
    await t.throwsAsync(fresh.ask('select id from weather'));
    t.is((await fresh.ask('select id from weather_maps')).length, 2);
    t.deepEqual(await fresh.ask('select name from kernel_schedules'), [{ name: 'weather-maps.tidy' }]);
    t.deepEqual(await fresh.ask('select queue from kernel_subscriptions'), [
      { queue: 'weather-maps.on.shop.paid' },
    ]);
    t.deepEqual(await fresh.ask('select id from kernel_jobs'), []);
    t.deepEqual(await fresh.ask("select name from schema_migrations where owner = 'weather'"), []);
    t.is((await remove('--yes')).stdout, 'weather has nothing in the database.\n');
  },
);

test('data of a bundled plugin, of one that is enabled, and of no plugin stay', async (t) => {
  const folder = await temporaryFolder(t);
  const plugins = path.join(folder, 'plugins/weather');
  await mkdir(plugins, { recursive: true });
  await writeFile(path.join(plugins, 'plugin.ts'), '');
  const refused = async (name: string, reason: RegExp) => {
    const { code, stderr } = await outcomeOf(folder, ['plugins', 'remove', name, '--with-data', '--yes'], {
      SVC_PLUGIN_DIRS: 'plugins',
    });
    t.is(code, 1);
    t.regex(stderr, reason);
  };
  await refused('records', /^records comes with the gateway: its tables stay$/m);
  await refused('kernel', /^kernel comes with the gateway/);
  await refused(
    'weather',
    /^weather is enabled: disable it with POST \/admin\/v1\/plugins\/weather\/disable/,
  );
  await refused('%', /^% is no name of a plugin$/m);
  await writeFile(path.join(folder, 'gateway.yaml'), 'plugins: { weather: { enabled: false } }\n');
  const { code, stdout } = await outcomeOf(folder, ['plugins', 'remove', 'weather', '--with-data'], {
    SVC_PLUGIN_DIRS: 'plugins',
  });
  t.deepEqual({ code, stdout }, { code: 0, stdout: 'weather has nothing in the database.\n' });
  t.is((await run(t, folder, ['plugins', 'remove', 'weather', '--yes'])).code, 2);
  t.is((await run(t, folder, ['plugins', 'list', '--with-data'])).code, 2);
});
