import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { column, type Migration } from '../../../foundation/data/database.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { eachDatabase } from '../../support/databases.ts';
import { pluginFolder } from '../../support/plugin-folder.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** A plugin that counts its ratings at `/<name>`, and adds one with each request. */
const ratings = (
  name: string,
  { columns = '', table = 'ratings', more = '', migration = '' }: Record<string, string> = {},
) => ({
  'plugin.ts': `
    import { access, column, defineEntity, definePlugin, route } from 'agent-gateway';
    const Rating = defineEntity({
      name: 'Rating', tableName: '${table}',
      properties: { id: column.id().primary(), ${columns} },
    });
    export default definePlugin({
      name: '${name}', summary: 'rates', kernel: '^1.0.0', ${more}
      entities: [{ entity: Rating, tenancy: 'shared' }],
      migrations: [{
        name: '001-initial',
        up: (schema, types) => [
          schema.createTable('ratings').addColumn('id', types.id, (is) => is.notNull().primaryKey())${migration},
        ],
      }],
      setup(scope) {
        const { database, ids } = scope.services;
        scope.route(route({
          method: 'GET', path: '/${name}', access: access.public(), summary: 'rate', rateLimit: 'none',
          handle: async () => {
            await database.system().insert(Rating, { id: ids.uuid() });
            return { count: await database.system().count(Rating) };
          },
        }));
      },
    });`,
});

const report = async (gateway: TestGateway, name: string) =>
  (await gateway.request(`/admin/v1/plugins/${name}`)).body;
const reload = (gateway: TestGateway, name: string) =>
  gateway.request(`/admin/v1/plugins/${name}/reload`, { method: 'POST' });
const count = async (gateway: TestGateway, name: string) => (await gateway.request(`/${name}`)).body.count;

eachDatabase(
  test,
  'a reload whose entities have no tables, or whose migrations changed, is refused, and the working generation serves on',
  async (t, fresh) => {
    const folder = await pluginFolder(t);
    await folder.drop('feedback', ratings('feedback'));
    await using gateway = await startTestGateway({
      plugins: [],
      pluginFolders: [folder.path],
      env: fresh.environment,
    });
    t.is(await count(gateway, 'feedback'), 1);
    const refused = async (files: Record<string, string>, reason: RegExp) => {
      await folder.save('feedback', files);
      const { status, body } = await reload(gateway, 'feedback');
      t.true(status >= 400);
      t.regex(JSON.stringify(body), reason);
      t.regex((await report(gateway, 'feedback')).last_error.message, reason);
      t.is((await report(gateway, 'feedback')).state, 'active');
    };
    await refused(
      ratings('feedback', { columns: 'stars: column.integer(),' }),
      /ratings has no column stars, which Rating has\. Write a migration after 001-initial, called 002-…/,
    );
    t.is(await count(gateway, 'feedback'), 2);
    await refused(ratings('feedback', { table: 'elsewhere' }), /the table elsewhere of Rating is missing/);
    await refused(
      ratings('feedback', { migration: ".addColumn('x', types.integer)" }),
      /Migration 001-initial of feedback was changed after it was applied: statement 1/,
    );
    t.is(await count(gateway, 'feedback'), 3);
  },
);

eachDatabase(test, 'at a start a plugin without its tables fails alone', async (t, fresh) => {
  const Lost = defineEntity({ name: 'Lost', tableName: 'lost', properties: { id: column.id().primary() } });
  const lost = testPlugin('lost', { entities: [{ entity: Lost, tenancy: 'shared' }] });
  await using gateway = await startTestGateway({
    plugins: [lost, testPlugin('fine')],
    env: fresh.environment,
  });
  t.like(await report(gateway, 'lost'), {
    state: 'failed',
    reason:
      'The tables of lost are not as its entities need them: the table lost of Lost is missing. Write a migration 001-… that changes this',
  });
  t.is((await report(gateway, 'fine')).state, 'active');
});

eachDatabase(
  test,
  'a plugin that is renamed while it runs keeps its rows, whichever folder is seen first',
  async (t, fresh) => {
    const folder = await pluginFolder(t);
    await folder.drop('feedback', ratings('feedback'));
    await using gateway = await startTestGateway({
      plugins: [],
      pluginFolders: [folder.path],
      env: fresh.environment,
    });
    t.is(await count(gateway, 'feedback'), 1);
    // Both are there for a while: the new one is refused, and comes when the old one has gone.
    await folder.drop('feedback2', ratings('feedback2', { more: "formerly: ['feedback']," }));
    await until(async () => (await report(gateway, 'feedback2')).state === 'failed');
    t.regex(
      (await report(gateway, 'feedback2')).reason,
      /was called feedback before.*feedback is here as well/,
    );
    t.is(await count(gateway, 'feedback'), 2);
    await folder.remove('feedback');
    await until(async () => (await count(gateway, 'feedback2')) >= 3);
    // And the other way round.
    await folder.remove('feedback2');
    await until(async () => (await gateway.request('/feedback2')).status === 404);
    await folder.drop('feedback3', ratings('feedback3', { more: "formerly: ['feedback2', 'feedback']," }));
    await until(async () => (await count(gateway, 'feedback3')) >= 4);
  },
);

test('without its former name a renamed plugin is refused with what to do, and comes when it says it', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('feedback', ratings('feedback'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  t.is(await count(gateway, 'feedback'), 1);
  await folder.remove('feedback');
  await until(async () => (await gateway.request('/feedback')).status === 404);
  await folder.drop('feedback2', ratings('feedback2'));
  await until(async () => (await report(gateway, 'feedback2')).state === 'failed');
  t.regex(
    (await report(gateway, 'feedback2')).reason,
    /belongs to feedback\. If feedback2 is feedback under a new name, say so in its definition: formerly: \['feedback'\]/,
  );
  await folder.save('feedback2', ratings('feedback2', { more: "formerly: ['feedback']," }));
  await until(async () => (await count(gateway, 'feedback2')) >= 2);
});

test('an entry of gateway.yaml under a former name is told with its line, and so is none that was renamed', async (t) => {
  const made: Migration = {
    name: '001-initial',
    up: (schema, types) => [schema.createTable('ratings').addColumn('id', types.id)],
  };
  const plugins = [testPlugin('feedback2', { formerly: ['feedback'], migrations: [made] })];
  await using old = await startTestGateway({ plugins, yaml: 'plugins:\n  feedback: { enabled: false }\n' });
  const { state, reason } = await report(old, 'feedback2');
  t.is(state, 'failed');
  t.regex(
    reason,
    /gateway\.yaml:2: plugins\.feedback: the plugin is called feedback2 now: call its entry plugins\.feedback2$/,
  );
  await using renamed = await startTestGateway({
    plugins,
    yaml: 'plugins:\n  feedback2: { enabled: true }\n',
  });
  t.is((await report(renamed, 'feedback2')).state, 'active');
});
