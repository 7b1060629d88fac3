import { cp, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { until } from '../../support/until.ts';

/** A deployment: the folder of gateway.yaml, with packages as npm installs them. */
async function deployment(t: ExecutionContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-packages-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const config = path.join(folder, 'gateway.yaml');
  const save = async (below: string, files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(folder, below, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  };
  return {
    folder,
    save,
    install: (name: string, files: Record<string, string>) => save(path.join('node_modules', name), files),
    yaml: (text: string) => writeFile(config, text),
    start: (env: Record<string, string> = {}) =>
      startTestGateway({ plugins: [], env: { SVC_CONFIG: config, ...env } }),
  };
}

/**
 * A package whose plugin `name` answers `/<name>` with a word of a module of its own, and of a package that it has
 * installed below itself.
 */
const greeter = (
  name: string,
  { word = 'hello', version = '1.0.0', as = `@acme/gateway-plugin-${name}`, ending = 'ts' } = {},
) => ({
  'package.json': JSON.stringify({
    name: as,
    version,
    type: 'module',
    exports: { '.': { types: './types.d.ts', default: `./lib/main.${ending}` } },
  }),
  [`lib/main.${ending}`]: `
    import { access, definePlugin, route${ending === 'ts' ? ', type Plugin' : ''} } from 'agent-gateway';
    import { StepFailure } from 'agent-gateway/contracts/workflow';
    import { below } from 'below';
    import { word } from './word.${ending}';
    const plugin${ending === 'ts' ? ': Plugin' : ''} = definePlugin({
      name: '${name}', summary: 'greets', kernel: '^1.0.0',
      setup(scope) {
        scope.route(route({
          method: 'GET', path: '/${name}', access: access.public(), summary: 'greet', rateLimit: 'none',
          handle: () => ({ word, below, failure: StepFailure.name }),
        }));
      },
    });
    export default plugin;`,
  [`lib/word.${ending}`]: `export const word = '${word}';`,
  'node_modules/below/package.json':
    '{"name": "below", "version": "1.0.0", "type": "module", "main": "index.js"}',
  'node_modules/below/index.js': `export const below = 'of ${word}';`,
});

const report = async (gateway: TestGateway, name: string) =>
  (await gateway.request(`/admin/v1/plugins/${name}`)).body;
const word = async (gateway: TestGateway, name: string) => (await gateway.request(`/${name}`)).body.word;

for (const ending of ['ts', 'js']) {
  test(`a package of ${ending} files that gateway.yaml names runs, and a reload takes its new version`, async (t) => {
    const { install, yaml, start } = await deployment(t);
    const name = `kind${ending}`;
    const as = `@acme/gateway-plugin-${name}`;
    await install(as, greeter(name, { ending }));
    await yaml(`plugins:\n  ${name}:\n    package: '${as}'\n`);
    await using gateway = await start();
    t.deepEqual((await gateway.request(`/${name}`)).body, {
      word: 'hello',
      below: 'of hello',
      failure: 'StepFailure',
    });
    t.like(await report(gateway, name), { state: 'active', version: '1.0.0', generation: 0 });
    await install(as, greeter(name, { ending, word: 'again', version: '2.0.0' }));
    const reloaded = await gateway.request(`/admin/v1/plugins/${name}/reload`, { method: 'POST' });
    t.like(reloaded.body, { state: 'active', version: '2.0.0', generation: 1 });
    // What it has installed below itself is no module of its own: npm packages stay until the process ends.
    t.like((await gateway.request(`/${name}`)).body, { word: 'again', below: 'of hello' });
  });
}

test('a package comes, moves and goes with its entry while the gateway runs', async (t) => {
  const { install, yaml, start } = await deployment(t);
  await install('@acme/first', greeter('moving', { as: '@acme/first', word: 'first' }));
  await install('second', greeter('moving', { as: 'second', word: 'second' }));
  await using gateway = await start();
  t.is((await gateway.request('/moving')).status, 404);
  await yaml("plugins:\n  moving:\n    package: '@acme/first'\n");
  await until(async () => (await word(gateway, 'moving')) === 'first');
  await yaml('plugins:\n  moving:\n    package: second\n');
  await until(async () => (await word(gateway, 'moving')) === 'second');
  t.is((await report(gateway, 'moving')).generation, 1);
  await yaml('plugins: {}\n');
  await until(async () => (await gateway.request('/moving')).status === 404);
  await until(async () => (await gateway.request('/admin/v1/plugins/moving')).status === 404);
});

test('an entry that leads to no plugin is forgotten when it is taken out, and no failure while it is off', async (t) => {
  const { yaml, start } = await deployment(t);
  await using gateway = await start();
  const ready = async () => (await gateway.request('/health/ready')).body;
  await yaml('plugins:\n  nowhere: { path: ./nowhere }\n');
  await until(async () => (await report(gateway, 'nowhere')).state === 'failed');
  t.like(await ready(), { degraded: [{ name: 'nowhere', state: 'failed' }] });
  await yaml('plugins: {}\n');
  await until(async () => (await gateway.request('/admin/v1/plugins/nowhere')).status === 404);
  t.is((await ready()).degraded, undefined);
  await yaml('plugins:\n  nowhere: { path: ./nowhere }\n');
  await until(async () => (await report(gateway, 'nowhere')).state === 'failed');
  await yaml('plugins:\n  nowhere: { path: ./nowhere, enabled: false }\n');
  await until(async () => (await report(gateway, 'nowhere')).state === 'stopped');
  t.is((await ready()).degraded, undefined);
});

test('a package that is put aside while npm installs goes on, and one that comes later is taken', async (t) => {
  const { folder, install, yaml, start } = await deployment(t);
  await install('@acme/gateway-plugin-aside', greeter('aside'));
  await yaml(
    "plugins:\n  aside: { package: '@acme/gateway-plugin-aside' }\n  later: { package: '@acme/gateway-plugin-later' }\n",
  );
  await using gateway = await start({ SVC_WATCH_PLUGINS: 'true' });
  const { state, reason } = await report(gateway, 'later');
  t.is(state, 'failed');
  t.regex(reason, /gateway\.yaml:3: plugins\.later\.package: @acme\/gateway-plugin-later is not installed/);
  const modules = path.join(folder, 'node_modules/@acme');
  await rename(path.join(modules, 'gateway-plugin-aside'), path.join(modules, '.aside'));
  await install('@acme/gateway-plugin-later', greeter('later'));
  // When this one was seen, the other's folder was looked for as well.
  await until(async () => (await word(gateway, 'later')) === 'hello');
  t.is(await word(gateway, 'aside'), 'hello');
  await install('@acme/gateway-plugin-aside', greeter('aside', { word: 'new' }));
  await until(async () => (await word(gateway, 'aside')) === 'new');
});

test('a folder that gateway.yaml names by its path runs from its sources, whatever it is called', async (t) => {
  const { folder, save, yaml, start } = await deployment(t);
  const { 'lib/main.ts': main = '', 'lib/word.ts': own = '', ...rest } = greeter('local');
  await save('work/my-folder', {
    ...rest,
    'plugin.ts': main.replace('./word.ts', './lib/word.ts'),
    'lib/word.ts': own,
  });
  await yaml('plugins:\n  local:\n    path: ./work/my-folder\n');
  await using gateway = await start();
  t.is(await word(gateway, 'local'), 'hello');
  t.is((await report(gateway, 'local')).folder, path.join(folder, 'work/my-folder'));
  await save('work/my-folder', { 'lib/word.ts': "export const word = 'saved';" });
  await gateway.request('/admin/v1/plugins/local/reload', { method: 'POST' });
  t.is(await word(gateway, 'local'), 'saved');
});

test('a package that is installed above the folder of gateway.yaml is found', async (t) => {
  const { folder, install, save, start } = await deployment(t);
  await install('@acme/gateway-plugin-above', greeter('above'));
  await save('data/deep', {
    'gateway.yaml': "plugins: { above: { package: '@acme/gateway-plugin-above' } }",
  });
  await using gateway = await start({ SVC_CONFIG: path.join(folder, 'data/deep/gateway.yaml') });
  t.is(await word(gateway, 'above'), 'hello');
});

test('a package that is linked runs as one that is installed', async (t) => {
  const { folder, save, yaml, start } = await deployment(t);
  await save('packages/linked', greeter('linked'));
  await mkdir(path.join(folder, 'node_modules/@acme'), { recursive: true });
  await symlink(
    path.join(folder, 'packages/linked'),
    path.join(folder, 'node_modules/@acme/gateway-plugin-linked'),
  );
  await yaml("plugins:\n  linked: { package: '@acme/gateway-plugin-linked' }\n");
  await using gateway = await start();
  t.is(await word(gateway, 'linked'), 'hello');
  await save('packages/linked', { 'lib/word.ts': "export const word = 'saved';" });
  await gateway.request('/admin/v1/plugins/linked/reload', { method: 'POST' });
  t.is(await word(gateway, 'linked'), 'saved');
});

test('a plugin that is disabled is not imported, and takes its code when it is enabled', async (t) => {
  const { install, yaml, start } = await deployment(t);
  await install('@acme/gateway-plugin-idle', greeter('idle'));
  await yaml("plugins:\n  idle:\n    package: '@acme/gateway-plugin-idle'\n    enabled: false\n");
  await using gateway = await start();
  t.like(await report(gateway, 'idle'), { state: 'stopped', generation: null });
  t.is((await gateway.request('/admin/v1/plugins/idle/enable', { method: 'POST' })).body.state, 'active');
  t.is(await word(gateway, 'idle'), 'hello');
});

test('each entry that leads to no plugin of its name fails alone, with file and line', async (t) => {
  const { folder, install, save, yaml, start } = await deployment(t);
  await install('fine', greeter('fine', { as: 'fine' }));
  await install('misnamed', greeter('calls-itself-so', { as: 'misnamed' }));
  await install('empty', { 'package.json': '{"name": "empty", "version": "1.0.0"}' });
  await save('nothing', { 'README.md': 'no plugin' });
  await yaml(
    [
      'plugins:',
      '  fine: { package: fine }',
      '  wrong: { package: misnamed }',
      '  empty: { package: empty }',
      '  absent: { package: not-there }',
      '  bare: { path: nothing }',
      '  nowhere: { path: nowhere }',
      '  hidden: { path: node_modules/fine }',
    ].join('\n'),
  );
  await using gateway = await start();
  t.is(await word(gateway, 'fine'), 'hello');
  const file = path.join(folder, 'gateway.yaml');
  const wanted: Record<string, string> = {
    wrong: `${file}:3: plugins.wrong.package: misnamed is the plugin calls-itself-so: call its entry plugins.calls-itself-so`,
    empty: `${file}:4: plugins.empty.package: empty is no plugin: its package.json says neither a name nor what it exports`,
    absent: `${file}:5: plugins.absent.package: not-there is not installed: there is no ${folder}/node_modules/not-there`,
    bare: `${file}:6: plugins.bare.path: ${folder}/nothing has no plugin.ts, no plugin.js and no package.json that exports one`,
    nowhere: `${file}:7: plugins.nowhere.path: there is no folder ${folder}/nowhere`,
    hidden: `${file}:8: plugins.hidden.path: ${folder}/node_modules/fine lies below node_modules: name it by its package`,
  };
  for (const [name, reason] of Object.entries(wanted))
    t.like(await report(gateway, name), { state: 'failed', reason });
});

test('in production only the packages that SVC_PLUGIN_PACKAGES lists may run', async (t) => {
  const { folder, install, yaml, start } = await deployment(t);
  for (const name of ['one', 'two']) await install(`@acme/gateway-plugin-${name}`, greeter(name));
  await install('three', greeter('three', { as: 'three' }));
  // Installed under another name than its own.
  await cp(path.join(folder, 'node_modules/three'), path.join(folder, 'node_modules/@acme/alias'), {
    recursive: true,
  });
  await yaml(
    [
      'plugins:',
      "  one: { package: '@acme/gateway-plugin-one' }",
      "  two: { package: '@acme/gateway-plugin-two' }",
      "  three: { package: '@acme/alias' }",
    ].join('\n'),
  );
  const states = async (env: Record<string, string>) => {
    await using gateway = await start({ LOG_LEVEL: 'fatal', ...env });
    const reports = await Promise.all(['one', 'two', 'three'].map((name) => report(gateway, name)));
    return reports.map(({ state, reason }) => (state === 'active' ? 'active' : reason.replace(/^.*: /, '')));
  };
  const production = { NODE_ENV: 'production' };
  const unlisted = 'in production SVC_PLUGIN_PACKAGES lists the packages that may';
  t.deepEqual(await states({}), ['active', 'active', 'active']);
  t.deepEqual(await states(production), [unlisted, unlisted, unlisted]);
  t.deepEqual(await states({ ...production, SVC_PLUGIN_PACKAGES: '@acme/*' }), [
    'active',
    'active',
    'SVC_PLUGIN_PACKAGES does not list it',
  ]);
  t.deepEqual(await states({ SVC_PLUGIN_PACKAGES: '@acme/gateway-plugin-two,three,@acme/alias' }), [
    'SVC_PLUGIN_PACKAGES does not list it',
    'active',
    'active',
  ]);
});
