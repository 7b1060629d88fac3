import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { definitionProblem } from '../../../foundation/code/definition-form.ts';
import { placeOf } from '../../../foundation/code/error-place.ts';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';
import { PluginFolders } from '../../../kernel/host/plugin-folders.ts';
import { definePlugin, type Plugin } from '../../../kernel/index.ts';
import { KERNEL_VERSION } from '../../../kernel/version.ts';

const problemOf = (definition: object) => definitionProblem(definition, KERNEL_VERSION);

/** A folder of plugins outside the package; `files` are the texts of their plugin.ts by name. */
async function pluginFolder(t: ExecutionContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-plugins-'));
  t.teardown(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.join(folder, name));
    await writeFile(path.join(folder, name, 'plugin.ts'), text);
  }
  return folder;
}

const minimal = (name: string) => `
  import { definePlugin, type Plugin } from 'agent-gateway';
  import Type from 'typebox';
  export const define: typeof definePlugin = definePlugin;
  export default definePlugin({ name: '${name}', summary: 's', kernel: '^1.0.0', config: Type.Object({}), setup: () => {} });
`;

test('a plugin outside the package imports this very kernel, and the packages that it shares', async (t) => {
  const folder = await pluginFolder(t, { weather: minimal('weather') });
  const [found] = await new PluginFolders([folder]).loadAll();
  t.is(found?.name, 'weather');
  t.like(found, { plugin: { summary: 's' } });
  const module = await import(path.join(folder, 'weather', 'plugin.ts'));
  t.is(module.define, definePlugin);
});

test("a plugin's own folder in the place of the one that holds it is refused with the way out", async (t) => {
  const folder = await pluginFolder(t, { weather: minimal('weather') });
  const own = path.join(folder, 'weather');
  await t.throwsAsync(new PluginFolders([own]).loadAll(), {
    message: `SVC_PLUGIN_DIRS: ${own} is a plugin itself (${own}/plugin.ts): name the folder that holds it, ${folder}`,
  });
});

test('code that gateway.yaml is about to move elsewhere is not edited by that', async (t) => {
  const folder = await pluginFolder(t, {
    weather: minimal('weather'),
    next: `${minimal('weather')} // moved`,
  });
  const at = (place: string) =>
    parseGatewayFile(path.join(folder, 'gateway.yaml'), `plugins:\n  weather: { path: ./${place} }\n`);
  const folders = new PluginFolders([]);
  await folders.loadAll(at('weather'));
  t.like(await folders.load('weather', at('next')), { generation: 1 });
  t.false(await folders.isEdited('weather'), 'it is what runs');
  folders.declare(at('next'));
  t.false(await folders.isEdited('weather'));
  await writeFile(path.join(folder, 'next', 'plugin.ts'), minimal('weather'));
  t.true(await folders.isEdited('weather'));
});

test('what cannot be loaded is reported and hinders no other', async (t) => {
  const folder = await pluginFolder(t, {
    broken: 'import nothing from "./not-there.ts"; export default nothing;',
    empty: 'export const a = 1;',
    fine: minimal('fine'),
    kernel: minimal('kernel'),
    other: minimal('misnamed'),
  });
  await mkdir(path.join(folder, 'not-a-plugin'));
  const found = await new PluginFolders([folder]).loadAll();
  const errors = Object.fromEntries(
    found.map((one) => [one.name, 'error' in one ? one.error.message : 'loaded']),
  );
  t.deepEqual(Object.keys(errors), ['broken', 'empty', 'fine', 'kernel', 'other']);
  t.regex(errors.broken ?? '', /not-there\.ts/);
  t.regex(errors.empty ?? '', /has no definition as its default export/);
  t.is(errors.fine, 'loaded');
  t.is(errors.kernel, 'the gateway itself is called kernel: the plugin needs another name');
  t.regex(
    errors.other ?? '',
    /the folder other holds a plugin that calls itself misnamed: give both one name/,
  );
});

test('an import that leads nowhere is reported with its line, and with what was probably meant', async (t) => {
  const text = (imported: string) => `\nimport ${imported};\nexport default nothing;`;
  const wrong = {
    file: ["nothing from './other'", "/other' imported from ", ', did you mean ./other.ts?'],
    script: ["nothing from './other.js'", "/other.js' imported from ", ', did you mean ./other.ts?'],
    folder: ["nothing from './parts'", "import '", ', did you mean ./parts/index.ts?'],
    none: ["nothing from './none.ts'", "/none.ts' imported from ", 'plugin.ts'],
    contract: [
      "nothing from 'agent-gateway/contracts/agentengine'",
      'agent-gateway/contracts/agentengine is no module of the gateway, did you mean agent-gateway/contracts/agent-engine? It has agent-gateway, ',
      'workflow',
    ],
    deep: [
      'nothing from "agent-gateway/kernel/index.ts"',
      'agent-gateway/kernel/index.ts is no module of the gateway',
      'workflow',
    ],
    type: [
      "{ KernelServices } from 'agent-gateway'",
      "export named 'KernelServices'",
      '; a type is imported as `type KernelServices`',
    ],
    value: ["{ rout } from 'agent-gateway'", "export named 'rout'", "'rout'"],
  } as const;
  const folder = await pluginFolder(
    t,
    Object.fromEntries(Object.entries(wrong).map(([name, [imported]]) => [name, text(imported)])),
  );
  for (const name of Object.keys(wrong)) {
    await writeFile(path.join(folder, name, 'other.ts'), 'export default 1;');
    await mkdir(path.join(folder, name, 'parts'));
    await writeFile(path.join(folder, name, 'parts', 'index.ts'), 'export default 1;');
  }
  for (const found of await new PluginFolders([folder]).loadAll()) {
    const [, inside, end] = wrong[found.name as keyof typeof wrong];
    const error = 'error' in found ? found.error : undefined;
    const { message = '' } = error ?? {};
    t.true(message.includes(inside) && message.endsWith(end), `${found.name}: ${message}`);
    t.is(placeOf(error, found.folder), 'plugin.ts:2', found.name);
  }
});

test('a definition of the wrong form is reported by its member, and hinders no other', async (t) => {
  const wrong = {
    setup: ['setup: undefined', 'the definition has no function "setup"'],
    needs: [
      'needs: { chats: contract.Chats }',
      '"needs.chats" is undefined, and should be what serviceRef returns',
    ],
    wants: [
      "wants: { chats: 'agent-engine.chats' }",
      '"wants.chats" is "agent-engine.chats", and should be what serviceRef returns',
    ],
    offers: ['offers: [contract.Offered]', '"offers.0" is undefined, and should be what serviceRef returns'],
    points: [
      'points: [contract.Point]',
      '"points.0" is undefined, and should be what extensionPoint returns',
    ],
    jobs: ['jobs: [contract.Job]', '"jobs.0" is undefined, and should be what defineJob returns'],
    entities: ['entities: contract', '"entities" is an object, and should be a list'],
    rows: [
      'entities: [contract.Note]',
      '"entities.0" is undefined, and should be what defineEntity returns, or { entity, … }',
    ],
    migrations: [
      'migrations: [null]',
      '"migrations.0" is null, and should be a migration: a name, and a function "up"',
    ],
    formerly: ["formerly: 'notes'", '"formerly" is "notes", and should be a list'],
    misspelled: ['want: {}', 'there is no member "want", did you mean "wants"?'],
  } as const;
  const text = (name: string, member: string) =>
    `import { definePlugin, type Plugin } from 'agent-gateway';
     const contract = {};
     export default definePlugin({ name: '${name}', summary: 's', kernel: '^1.0.0', setup() {}, ${member} });`;
  const texts = Object.entries(wrong).map(([name, [member]]) => [name, text(name, member)]);
  const folder = await pluginFolder(t, { ...Object.fromEntries(texts), fine: minimal('fine') });
  const found = await new PluginFolders([folder]).loadAll();
  t.true(found.some((one) => one.name === 'fine' && 'plugin' in one));
  for (const [name, [, told]] of Object.entries(wrong)) {
    const one = found.find((other) => other.name === name)!;
    t.true('error' in one && one.error.message.startsWith(told), 'error' in one ? one.error.message : name);
  }
});

test('every member of a definition is known by its name', (t) => {
  const members: Required<Record<keyof Plugin, true>> = {
    name: true,
    formerly: true,
    summary: true,
    version: true,
    kernel: true,
    config: true,
    needs: true,
    wants: true,
    offers: true,
    points: true,
    jobs: true,
    entities: true,
    migrations: true,
    listen: true,
    onFailure: true,
    setup: true,
  };
  for (const member of Object.keys(members))
    t.is(
      problemOf({ [`${member}x`]: {} })?.split(';')[0],
      `there is no member "${member}x", did you mean "${member}"?`,
    );
  t.is(problemOf({ name: 'a', kernel: '^1.0.0', setup() {} }), undefined);
});

test('a member that a definition does not have would do nothing, and is refused with what there is', async (t) => {
  const all = { name: 'a', summary: 's', kernel: '^1.0.0', setup() {} };
  const told = (member: string) =>
    `there is no member "${member}"; a definition has name, summary, version, kernel, config, needs, wants, listen, onFailure, setup, offers, points, jobs, entities, migrations, formerly, and "setup" registers all else`;
  for (const member of ['rotues', 'routes', 'onInit'])
    t.is(problemOf({ ...all, [member]: [] }), told(member), member);
  t.is(
    problemOf({ ...all, listen: { field: 'address', isRequried: true } }),
    '"listen": there is no member "isRequried", did you mean "isRequired"?',
  );
  // Such members may be those of the other version.
  const newer = { ...all, kernel: '^9.0.0', onInit() {}, want: {}, setup: 7 };
  t.is(problemOf(newer), `a works with kernel ^9.0.0; this one is ${KERNEL_VERSION}`);

  const folder = await pluginFolder(t, {
    future: minimal('future').replace("'^1.0.0'", "'^9.0.0', want: {}, onInit() {}"),
  });
  const [found] = await new PluginFolders([folder]).loadAll();
  t.is(
    'error' in found! && found.error.message,
    `future works with kernel ^9.0.0; this one is ${KERNEL_VERSION}`,
  );
});

test('of two plugins with one name the first folder’s is taken, and the other is reported', async (t) => {
  const first = await pluginFolder(t, { same: minimal('same') });
  const second = await pluginFolder(t, { same: minimal('same') });
  const found = await new PluginFolders([first, second]).loadAll();
  t.is(found.length, 2);
  t.true('plugin' in found[0]!);
  t.true(found[1] !== undefined && 'error' in found[1] && found[1].error.message.includes(first));
});

test('where a link leads to another release, the code of that release is imported', async (t) => {
  const releases = await pluginFolder(t, {
    first: `export { default } from './definition.ts';`,
    second: `export { default } from './definition.ts';`,
  });
  for (const [name, summary] of Object.entries({ first: 'of old', second: 'of now' }))
    await writeFile(
      path.join(releases, name, 'definition.ts'),
      minimal('weather').replace("'s'", `'${summary}'`),
    );
  const folder = await pluginFolder(t, {});
  const link = path.join(folder, 'weather');
  await symlink(path.join(releases, 'first'), link);
  const folders = new PluginFolders([folder]);
  t.like((await folders.loadAll())[0], { plugin: { summary: 'of old' } });

  await symlink(path.join(releases, 'second'), path.join(folder, '.next'));
  await rename(path.join(folder, '.next'), link);
  t.true(await folders.isEdited('weather'));
  t.like(await folders.load('weather'), { folder: link, plugin: { summary: 'of now' } });
  // As a deployment does that keeps one release only.
  await rm(path.join(releases, 'first'), { recursive: true });
  t.like(await folders.load('weather'), { plugin: { summary: 'of now' } });
});

test('a plugin folder that is not there is a mistake that names it', async (t) => {
  await t.throwsAsync(new PluginFolders(['/nowhere/plugins']).loadAll(), {
    message: /SVC_PLUGIN_DIRS: .*\/nowhere\/plugins /,
  });
});
