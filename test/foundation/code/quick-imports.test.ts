import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { BUNDLES, INSTALLED } from '../../../foundation/code/bundled-packages.ts';

const CODE = ['foundation/code/bundled-packages.ts', 'foundation/code/quick-imports.ts'];

/** Prints what `import` and `require` get of the packages `tiny` (CommonJS) and `new` (a module). */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { quickenImports } from './foundation/code/quick-imports.ts';
  quickenImports();
  const require = createRequire(import.meta.url);
  const tiny = await import('tiny');
  const again = await import('./node_modules/tiny/index.js');
  const { from } = await import('new');
  const required = [require('tiny').from, require('new').from];
  process.stdout.write(JSON.stringify({ imported: [tiny.from, from], required, isOne: tiny === again }));`;

interface Loaded {
  readonly imported: readonly string[];
  readonly required: readonly string[];
  readonly isOne: boolean;
}

/** A tree with two packages and bundles of them. */
async function treeOf(t: ExecutionContext): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'quick-imports-'));
  t.teardown(() => rm(root, { recursive: true }));
  const files = {
    'package.json': '{"type":"module"}',
    'package-lock.json': '{"lockfileVersion":3}',
    'program.js': PROGRAM,
    'node_modules/tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
    'node_modules/tiny/index.js': "exports.from = 'package';",
    'node_modules/new/package.json': '{"name":"new","version":"1.0.0","type":"module","main":"index.js"}',
    'node_modules/new/index.js': "export const from = 'package';",
    'node_modules/.cache/packages/tiny.mjs': "export const from = 'bundle';",
    'node_modules/.cache/packages/new.mjs': "export const from = 'bundle';",
  };
  for (const [file, text] of Object.entries(files)) await write(root, file, text);
  await mkdir(path.join(root, 'foundation/code'), { recursive: true });
  for (const file of CODE) await copyFile(path.resolve(file), path.join(root, file));
  const { digestOf } = (await import(
    path.join(root, CODE[0]!)
  )) as typeof import('../../../foundation/code/bundled-packages.ts');
  const modules = {
    'tiny/index.js': { file: 'tiny.mjs', isCommonJs: true },
    'new/index.js': { file: 'new.mjs', isCommonJs: false },
  };
  const manifest = { digest: digestOf(modules), modules };
  await write(root, 'node_modules/.cache/packages/manifest.json', JSON.stringify(manifest));
  return root;
}

async function write(root: string, file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), text);
}

async function load(root: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ['program.js'], { cwd: root });
  return JSON.parse(stdout);
}

const PLAIN = { imported: ['package', 'package'], required: ['package', 'package'], isOne: true };

test('packages are loaded from their bundles, one instance by all names', async (t) => {
  const { required, ...loaded } = (await load(await treeOf(t))) as Loaded;
  t.deepEqual(loaded, { imported: ['bundle', 'bundle'], isOne: true });
  t.deepEqual(required, ['package', 'bundle'], 'what require gets of CommonJS is not what import gets');
});

for (const [title, file, text] of [
  ['another version of one of them', 'node_modules/new/package.json', '{"version":"1.0.1","type":"module"}'],
  ['another version of what they use', 'package-lock.json', '{"lockfileVersion":3,"packages":{}}'],
  ['a manifest that was cut short', 'node_modules/.cache/packages/manifest.json', '{"digest":'],
] as const)
  test(`with ${title} they are loaded as they are`, async (t) => {
    const root = await treeOf(t);
    await write(root, file, text);
    t.deepEqual(await load(root), PLAIN);
  });

test('without bundles they are loaded as they are', async (t) => {
  const root = await treeOf(t);
  await rm(path.join(root, 'node_modules/.cache'), { recursive: true });
  t.deepEqual(await load(root), PLAIN);
});

test('who may read the packages may read their bundles', async (t) => {
  const mode = async (folder: string) => ((await stat(folder)).mode & 0o777).toString(8);
  t.is(
    await mode(BUNDLES),
    await mode(INSTALLED),
    'after a change of scripts/bundle-packages.ts: npm run bundle',
  );
});

test('own files find each other and the kernel; one that is not there is said as Node says it', async (t) => {
  const root = await treeOf(t);
  const files = {
    'package.json': '{"name":"agent-gateway","type":"module","exports":"./kernel/index.ts"}',
    'kernel/index.ts': "export const name: string = 'kernel';",
    'plugins/one/plugin.ts':
      "export { name } from 'agent-gateway'; export { two } from '../two/contract.ts';",
    'plugins/two/contract.ts': 'export const two: number = 2;',
    'plugins/two/lost.ts': "import '../one/nothing.ts';",
    'program.js': `
      import { quickenImports } from './foundation/code/quick-imports.ts';
      quickenImports();
      const { name, two } = await import('./plugins/one/plugin.ts');
      const again = await import('./plugins/one/plugin.ts?generation=1');
      const kernel = await import('./kernel/index.ts');
      const lost = await import('./plugins/two/lost.ts').catch(({ code, message }) => [code, message]);
      process.stdout.write(JSON.stringify([name, two, again.name, kernel.name, lost]));`,
  };
  for (const [file, text] of Object.entries(files)) await write(root, file, text);
  const lost = `Cannot find module '${root}/plugins/one/nothing.ts' imported from ${root}/plugins/two/lost.ts`;
  t.deepEqual(await load(root), ['kernel', 2, 'kernel', 'kernel', ['ERR_MODULE_NOT_FOUND', lost]]);
});
