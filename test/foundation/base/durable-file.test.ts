import { chmod, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { makeFolder } from '../../../foundation/base/durable-file.ts';

test('a folder and those above it are made for their user alone, and those that are there stay as they are', async (t) => {
  const root = await mkdtemp(path.join(tmpdir(), 'gateway-folder-'));
  t.teardown(() => rm(root, { recursive: true }));
  await chmod(root, 0o755);
  const modeOf = async (folder: string) => (await stat(folder)).mode & 0o777;
  makeFolder(path.join(root, 'a/b'));
  makeFolder(path.join(root, 'a/b'));
  t.deepEqual([await modeOf(root), await modeOf(path.join(root, 'a/b'))], [0o755, 0o700]);

  await writeFile(path.join(root, 'file'), '');
  await symlink(path.join(root, 'a'), path.join(root, 'link'));
  await symlink(path.join(root, 'gone'), path.join(root, 'loose'));
  makeFolder(path.join(root, 'link/c'));
  t.is(await modeOf(path.join(root, 'a/c')), 0o700);
  for (const [folder, code] of [
    ['file', 'EEXIST'],
    ['file/a/b', 'ENOTDIR'],
    ['loose', 'EEXIST'],
  ] as const)
    t.throws(() => makeFolder(path.join(root, folder)), { code }, folder);
});

(process.platform === 'linux' ? test : test.skip)('a folder that cannot be made is an error at once', (t) => {
  for (const folder of ['/proc/gateway', '/proc/gateway/data'])
    t.throws(() => makeFolder(folder), { code: 'ENOENT' }, folder);
});
