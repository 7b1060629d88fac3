import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { filesOf } from '../support/together.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('each test file that shares a process belongs to one group', async (t) => {
  const owners = new Map<string, string[]>();
  for (const group of await readdir(path.join(root, 'test/groups'))) {
    const text = await readFile(path.join(root, 'test/groups', group), 'utf8');
    const folders = [...text.matchAll(/'(!?test\/[^']+)'/g)].map(([, folder = '']) => folder);
    t.true(folders.length > 0, group);
    for (const file of filesOf(folders)) owners.set(file, [...(owners.get(file) ?? []), group]);
  }
  const lost = filesOf(['test']).filter((file) => !owners.has(file));
  t.deepEqual(lost, [], 'no group in test/groups has these');
  const twice = [...owners].filter(([, groups]) => groups.length > 1);
  t.deepEqual(twice, []);
});

test('what npm test takes a choice of is whole in npm run test:long', async (t) => {
  const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const patterns = [...scripts['test:long'].matchAll(/test\/[^' ]+/g)].map(([pattern = '']) => pattern);
  t.true(patterns.length > 0);
  for (const file of filesOf(['test'])) {
    const declares = /\b(?:chosen|sampledGatewayDatabase)\(/.test(
      await readFile(path.join(root, file), 'utf8'),
    );
    // Or a long test imports the file.
    const isImported = existsSync(path.join(root, file.replace('.test.ts', '.long.test.ts')));
    if (declares) t.true(isImported || patterns.some((pattern) => path.matchesGlob(file, pattern)), file);
  }
});
