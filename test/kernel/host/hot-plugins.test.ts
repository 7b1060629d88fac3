import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { pluginFolder } from '../../support/plugin-folder.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** A plugin that serves `/<name>` with what its own module and data file say. */
function greeting(name: string, word: string, more = '') {
  return {
    'plugin.ts': `
      import { access, definePlugin, reply, route } from 'agent-gateway';
      import { word } from './services/word.ts';
      import data from './data.json' with { type: 'json' };
      export default definePlugin({
        name: '${name}', summary: 'greets', kernel: '^1.0.0',
        setup(scope) {
          ${more}
          scope.route(route({
            method: 'GET', path: '/${name}', access: access.public(), summary: 'greet', rateLimit: 'none',
            handle: () => ({ word, data }),
          }));
        },
      });`,
    'services/word.ts': `export const word = '${word}';`,
    'data.json': JSON.stringify({ word }),
  };
}

const neighbour = () => {
  const control = { setUps: 0 };
  const plugin = testPlugin('neighbour', {
    setup: (scope) => {
      control.setUps += 1;
      scope.route(publicRoute('/neighbour', () => 'here'));
    },
  });
  return { control, plugin };
};

const report = async (gateway: TestGateway, name: string) =>
  (await gateway.request(`/admin/v1/plugins/${name}`)).body;

/** Without a request: those are counted. */
const slot = (gateway: TestGateway, name: string) => gateway.gateway.host.slots.find(name);

const answer = (gateway: TestGateway, path: string, word: string | number) =>
  until(async () => {
    const { status, body } = await gateway.request(path);
    return body.word === word || status === word;
  });

test('a plugin that is dropped into a running gateway is served, and gone with its folder; nothing else notices', async (t) => {
  const folder = await pluginFolder(t);
  const { control, plugin } = neighbour();
  await using gateway = await startTestGateway({ plugins: [plugin], pluginFolders: [folder.path] });
  t.is((await gateway.request('/hello')).status, 404);
  await folder.drop('hello', greeting('hello', 'one'));
  await answer(gateway, '/hello', 'one');
  const { state, generation } = await report(gateway, 'hello');
  t.deepEqual({ state, generation }, { state: 'active', generation: 0 });
  await folder.remove('hello');
  await answer(gateway, '/hello', 404);
  await until(() => slot(gateway, 'hello') === undefined);
  t.is(control.setUps, 1);
});

test('a folder that is copied file by file is loaded once it is whole', async (t) => {
  const folder = await pluginFolder(t);
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  const { 'plugin.ts': plugin, ...rest } = greeting('hello', 'slow');
  await folder.save('hello', { 'plugin.ts': plugin });
  await until(() => slot(gateway, 'hello')?.status.state === 'failed');
  await folder.save('hello', rest);
  await t.notThrowsAsync(answer(gateway, '/hello', 'slow'));
});

test('reload by request imports the whole module graph anew', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('hello', greeting('hello', 'one'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  t.deepEqual((await gateway.request('/hello')).body, { word: 'one', data: { word: 'one' } });
  await folder.save('hello', greeting('hello', 'two'));
  const reloaded = await gateway.request('/admin/v1/plugins/hello/reload', { method: 'POST' });
  t.is(reloaded.status, 200);
  t.is(reloaded.body.generation, 1);
  t.deepEqual((await gateway.request('/hello')).body, { word: 'two', data: { word: 'two' } });
  t.regex((await gateway.request('/metrics')).body, /svc_plugin_code_generations 2/);
});

test('a reload by request that fails says where in the code, and shows no credential', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('hello', greeting('hello', 'one'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  const file = path.join(folder.path, 'hello', 'services', 'word.ts');
  await writeFile(file, `\nthrow new Error('no; password=hunter2secret');\nexport const word = 'two';`);
  const { status, body } = await gateway.request('/admin/v1/plugins/hello/reload', { method: 'POST' });
  t.is(status, 409);
  t.is(body.detail, 'hello: no; password=[REDACTED] (services/word.ts:2)');
  t.is((await gateway.request('/hello')).body.word, 'one');
});

test('a plugin that was edited while it was disabled runs its new code when it is enabled', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('hello', greeting('hello', 'one'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  await gateway.request('/admin/v1/plugins/hello/disable', { method: 'POST' });
  await gateway.request('/admin/v1/plugins/hello/enable', { method: 'POST' });
  t.is((await report(gateway, 'hello')).generation, 0);
  await gateway.request('/admin/v1/plugins/hello/disable', { method: 'POST' });
  await folder.save('hello', { 'services/word.ts': "export const word = 'two';" });
  await gateway.request('/admin/v1/plugins/hello/enable', { method: 'POST' });
  t.is((await gateway.request('/hello')).body.word, 'two');
});

test('with SVC_WATCH_PLUGINS saved code is reloaded, and broken code keeps what runs and says why', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('hello', greeting('hello', 'one'));
  const env = { SVC_WATCH_PLUGINS: 'true' };
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path], env });
  await folder.save('hello', { 'services/word.ts': "export const word = 'two';" });
  await answer(gateway, '/hello', 'two');
  await folder.save('hello', { 'services/word.ts': 'export const word = ' });
  await until(() => slot(gateway, 'hello')?.lastError !== undefined);
  t.is((await gateway.request('/hello')).body.word, 'two');
  t.is((await report(gateway, 'hello')).state, 'active');
  await folder.save('hello', greeting('hello', 'three', "throw new Error('not today');"));
  await until(() => slot(gateway, 'hello')?.lastError?.message.startsWith('not today') === true);
  t.is((await gateway.request('/hello')).body.word, 'two');
  await folder.save('hello', greeting('hello', 'four'));
  await answer(gateway, '/hello', 'four');
  t.is((await report(gateway, 'hello')).last_error, null);
});

test('without SVC_WATCH_PLUGINS saved code waits for a request', async (t) => {
  const folder = await pluginFolder(t);
  await folder.drop('hello', greeting('hello', 'one'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  await folder.save('hello', { 'services/word.ts': "export const word = 'two';" });
  await folder.drop('later', greeting('later', 'here'));
  // The watcher has looked at everything once the second plugin is there.
  await answer(gateway, '/later', 'here');
  t.is((await gateway.request('/hello')).body.word, 'one');
});

const BROKEN: readonly { title: string; more: string; says: RegExp }[] = [
  { title: 'throws', more: "throw new Error('no luck');", says: /no luck/ },
  {
    title: 'hangs',
    more: 'return new Promise(() => {});',
    says: /the set-up of hello did not end within 1\.5 s/,
  },
  {
    title: 'collides with another plugin’s route',
    more: "scope.route(route({ method: 'GET', path: '/neighbour', access: access.public(), summary: 's', handle: () => 1 }));",
    says: /\/neighbour.*neighbour|neighbour.*\/neighbour/,
  },
];
for (const { title, more, says } of BROKEN) {
  test(`a dropped plugin whose set-up ${title} is named in the report, and everything else serves`, async (t) => {
    const folder = await pluginFolder(t);
    const { control, plugin } = neighbour();
    await using gateway = await startTestGateway({
      plugins: [plugin],
      pluginFolders: [folder.path],
      setupTimeout: 1_500,
    });
    await folder.drop('hello', greeting('hello', 'one', more));
    await until(() => slot(gateway, 'hello')?.status.state === 'failed');
    t.regex((await report(gateway, 'hello')).reason, says);
    t.is((await gateway.request('/neighbour')).status, 200);
    const ready = await gateway.request('/health/ready');
    t.is(ready.status, 200);
    t.regex(JSON.stringify(ready.body), /hello/);
    // It stands in nobody's way, and comes up when its code is right.
    t.is((await gateway.request('/admin/v1/plugins/neighbour/reload', { method: 'POST' })).status, 200);
    t.is(control.setUps, 2);
    await folder.save('hello', greeting('hello', 'right'));
    await answer(gateway, '/hello', 'right');
  });
}

test('a dropped plugin that offers what another offers is refused, and both are named', async (t) => {
  const folder = await pluginFolder(t);
  const offering = (name: string) => ({
    'plugin.ts': `
      import { definePlugin, serviceRef } from 'agent-gateway';
      const Thing = serviceRef('shared.thing');
      export default definePlugin({
        name: '${name}', summary: 's', kernel: '^1.0.0', offers: [Thing], setup: (scope) => scope.provide(Thing, 1),
      });`,
  });
  await folder.drop('first', offering('first'));
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  await folder.drop('second', offering('second'));
  await until(() => slot(gateway, 'second')?.status.state === 'failed');
  t.regex((await report(gateway, 'second')).reason, /shared\.thing is offered by both first and second/);
  t.is((await report(gateway, 'first')).state, 'active');
  await folder.remove('first');
  await until(() => slot(gateway, 'first') === undefined);
  t.is((await gateway.request('/admin/v1/plugins/second/enable', { method: 'POST' })).status, 200);
});

const tabled = (columns: string, migrations: string, handle: string) => ({
  'plugin.ts': `
    import { access, column, defineEntity, definePlugin, route } from 'agent-gateway';
    const Item = defineEntity({
      name: 'Item', tableName: 'hot_items',
      properties: { id: column.id().primary(), tenantId: column.tenant(), ${columns} },
    });
    export default definePlugin({
      name: 'tabled', summary: 's', kernel: '^1.0.0', entities: [Item],
      migrations: [
        { name: '001-initial', up: (schema, types) => [
          schema.createTable('hot_items').addColumn('id', types.id, (is) => is.primaryKey()).addColumn('tenant_id', types.tenant, (is) => is.notNull()),
        ] },
        ${migrations}
      ],
      setup(scope) {
        scope.route(route({
          method: 'POST', path: '/items', access: access.authenticated(), summary: 's', handle: async (call) => {
            const entities = call.entities();
            ${handle}
          },
        }));
      },
    });`,
});

test('the entities of a plugin that arrives later are migrated then, and a new generation brings its own while the old one ends', async (t) => {
  const folder = await pluginFolder(t);
  await using gateway = await startTestGateway({ plugins: [], pluginFolders: [folder.path] });
  const release = Promise.withResolvers<void>();
  (globalThis as { hotItems?: Promise<void> }).hotItems = release.promise;
  t.teardown(() => delete (globalThis as { hotItems?: Promise<void> }).hotItems);
  await folder.drop(
    'tabled',
    tabled(
      '',
      '',
      "await globalThis.hotItems; await entities.insert(Item, { id: 'old' }); return entities.count(Item);",
    ),
  );
  await until(() => slot(gateway, 'tabled')?.status.state === 'active');
  const slow = gateway.request('/items', { method: 'POST' });
  await until(() => slot(gateway, 'tabled')?.current?.inFlight.size === 1);
  await folder.save(
    'tabled',
    tabled(
      'size: column.integer().default(1)',
      "{ name: '002-size', up: (schema, types) => [schema.alterTable('hot_items').addColumn('size', types.integer, (is) => is.notNull().defaultTo(1))] },",
      "await entities.insert(Item, { id: 'new', size: 7 }); return (await entities.findOneOrFail(Item, { id: 'new' })).size;",
    ),
  );
  const reload = gateway.request('/admin/v1/plugins/tabled/reload', { method: 'POST' });
  t.is((await reload).status, 200);
  t.is((await gateway.request('/items', { method: 'POST' })).body, 7);
  release.resolve();
  // The call that began with the old code ends with it, on the table of the new one.
  t.deepEqual([(await slow).status, (await slow).body], [200, 2]);
});

test('a plugin that is disabled is not imported, is shown by its folder, and starts when gateway.yaml or the administration enables it', async (t) => {
  const trap = (name: string) => ({
    ...greeting(name, 'hello'),
    'services/word.ts': `globalThis.imported_${name} = true; export const word = 'hello';`,
  });
  const folder = await pluginFolder(t);
  for (const name of ['first', 'second']) await folder.drop(name, trap(name));
  const needy = testPlugin('needy', { needs: { ref: serviceRef<object>('first.thing') } });
  await using gateway = await startTestGateway({
    plugins: [needy],
    pluginFolders: [folder.path],
    yaml: 'plugins:\n  first: {enabled: false}\n  second: {enabled: false}\n',
  });
  t.like(await report(gateway, 'first'), {
    name: 'first',
    state: 'stopped',
    reason: 'disabled in gateway.yaml',
    enabled: false,
  });
  t.is(
    (await report(gateway, 'needy')).reason,
    'needs first.thing, which no plugin offers of those that may run (first, second may not)',
  );
  t.false('imported_first' in globalThis);
  t.false('imported_second' in globalThis);
  await gateway.request('/admin/v1/plugins/first/enable', { method: 'POST' });
  t.is((await gateway.request('/first')).body.word, 'hello');
  await writeFile(path.join(gateway.folder, 'gateway.yaml'), 'plugins:\n  first: {enabled: true}\n');
  await until(async () => (await gateway.request('/second')).status === 200);
});
