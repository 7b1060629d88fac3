import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { chosenFeatures, withFeatures } from '../../scripts/new-plugin/features.ts';
import { writePlugin } from '../../scripts/new-plugin/write-plugin.ts';

for (const chosen of [
  undefined,
  'routes',
  'tool',
  'page,node-type',
  'routes,table,grpc,kind,job,tool,node-type,page',
]) {
  test(`a package with ${chosen ?? 'the usual'} has what was chosen, and nothing else`, async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'new-package-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    const features = chosenFeatures(chosen);
    const { folder } = await writePlugin({ name: 'weather-alerts', dir, features, scope: '@acme' });
    const files = await readdir(folder, { recursive: true });
    for (const file of [
      'package.json',
      'tsconfig.json',
      'plugin.ts',
      'plugin.test.ts',
      'README.md',
      'LICENSE',
      '.gitignore',
      '.github/workflows/ci.yml',
    ])
      t.true(files.includes(file), file);
    const folders = ['grpc', 'jobs', 'kinds', 'node-types', 'pages', 'proto', 'routes', 'store', 'tools'];
    const wanted = new Set(
      [...features].flatMap((name) =>
        name === 'grpc' ? ['grpc', 'proto'] : name === 'table' ? ['store'] : folderOf(name),
      ),
    );
    t.deepEqual(
      folders.filter((name) => files.includes(name)),
      folders.filter((name) => wanted.has(name)),
    );
    for (const file of files.filter((name) => /\.(ts|md|json|proto)$/.test(name)))
      t.notRegex(await readFile(path.join(folder, file), 'utf8'), /kebab-name|PascalName|snake_name|\/\/#/);
  });
}

function folderOf(feature: string): string[] {
  return feature === 'node-type' ||
    feature === 'kind' ||
    feature === 'job' ||
    feature === 'tool' ||
    feature === 'page'
    ? [`${feature}s`]
    : [feature];
}

test('a package brings the Node that its scripts need: an older one finds no tests, and calls that a success', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'new-package-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const { folder } = await writePlugin({ name: 'weather', dir, features: chosenFeatures('tool') });
  const written = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  t.regex(written.devDependencies.node, /^\^24\./);
  t.true(written.allowScripts.node);
  const examples = path.resolve(import.meta.dirname, '../../examples/plugins');
  for (const name of await readdir(examples)) {
    const example = JSON.parse(await readFile(path.join(examples, name, 'package.json'), 'utf8'));
    t.like(example, { devDependencies: written.devDependencies, allowScripts: written.allowScripts }, name);
  }
});

test('a feature that there is not is refused with those that there are', (t) => {
  t.throws(() => chosenFeatures('routes,database'), {
    message: /^--with knows no database: choose of table,/,
  });
  t.deepEqual([...chosenFeatures('grpc')], ['grpc', 'table']);
});

test('what belongs to another feature goes, with the imports that only it used', (t) => {
  const text = [
    "import { a, type B } from './a.ts';",
    "import { c } from './c.ts';",
    '//#if one',
    'a();',
    '//#if two',
    'c();',
    '//#else',
    'const b: B = 1;',
    '//#end',
    '//#end',
    'rest();',
    '',
  ].join('\n');
  t.is(
    withFeatures(text, new Set(['one']), true),
    "import { a, type B } from './a.ts';\na();\nconst b: B = 1;\nrest();\n",
  );
  t.is(withFeatures(text, new Set(['two']), true), 'rest();\n');
});
