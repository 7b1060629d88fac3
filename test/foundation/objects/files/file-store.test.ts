import {
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import type { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { objectPath } from '../../../../foundation/objects/files/key-path.ts';
import { ObjectStoreStartError } from '../../../../foundation/objects/object-errors.ts';
import { createLogger } from '../../../../foundation/observability/logger.ts';
import { until } from '../../../support/until.ts';
import { everythingIn, freshFolder, openForTest } from '../open-for-test.ts';

test('objects are files below the tenant, which their owner alone can read', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${path.join(folder, 'new/objects')}`);
  await objects.forTenant('acme').put('skills/weather/SKILL.md', 'sunny');
  const root = path.join(folder, 'new/objects');
  t.deepEqual(await everythingIn(root), [
    'acme+',
    'acme+/skills+',
    'acme+/skills+/weather+',
    'acme+/skills+/weather+/%53%4b%49%4c%4c.md=',
    'tmp',
  ]);
  for (const name of await everythingIn(root))
    t.is((await stat(path.join(root, name))).mode & 0o077, 0, name);
  const file = path.join(root, 'acme+/skills+/weather+/%53%4b%49%4c%4c.md=');
  t.true((await readFile(file, 'utf8')).startsWith('sunny\n{"object":1,'));
});

test('folders go with their last object', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  for (const key of ['a/b/c', 'a/b/d', 'x/y', `${'l'.repeat(200)}/z`]) await space.put(key, 'x');
  await space.delete('a/b/c');
  t.true((await everythingIn(folder)).includes('acme+/a+/b+'));
  await space.delete('a/b/d');
  t.false((await everythingIn(folder)).includes('acme+/a+'));
  await space.deleteAll('');
  t.deepEqual(await everythingIn(folder), ['tmp']);
});

test('symbolic links are not followed, wherever they stand', async (t) => {
  const folder = await freshFolder(t);
  const outside = await freshFolder(t);
  const elsewhere = await openForTest(t, `file:${outside}`);
  await elsewhere.objects.forTenant('acme').put('secret', 'secret');
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  await space.put('real', 'x');
  const base = path.join(folder, 'acme+');
  await symlink(path.join(outside, 'acme+'), path.join(base, 'link+'));
  await symlink(path.join(outside, 'acme+/secret='), path.join(base, 'file='));
  const refused = { code: 'objects.unavailable' };
  await t.throwsAsync(space.get('link/secret'), refused);
  await t.throwsAsync(space.head('link/secret'), refused);
  await t.throwsAsync(space.put('link/new', 'x'), refused);
  await t.throwsAsync(space.put('link/deeper/new', 'x'), refused);
  await t.throwsAsync(space.delete('link/secret'), refused);
  await t.throwsAsync(space.list('link/'), refused);
  await t.throwsAsync(space.deleteAll('link/'), refused);
  await t.throwsAsync(space.text('file', 10), refused);
  t.deepEqual(
    (await space.list('')).objects.map(({ key }) => key),
    ['real'],
  );
  t.deepEqual(await space.deleteAll(''), { deleted: 1, bytes: 1 });
  t.is(await elsewhere.objects.forTenant('acme').text('secret', 10), 'secret');
  t.deepEqual(
    (await everythingIn(outside)).filter((name) => name.includes('new')),
    [],
  );
});

test('the folder of the store itself may be a link', async (t) => {
  const folder = await freshFolder(t);
  await mkdir(path.join(folder, 'real'));
  await symlink('real', path.join(folder, 'link'));
  const { objects } = await openForTest(t, `file:${path.join(folder, 'link')}`);
  await objects.forTenant('acme').put('a/b', 'x');
  t.is(await objects.forTenant('acme').text('a/b', 1), 'x');
});

test('an object that is cut off is reported, left out of lists, and can be deleted and replaced', async (t) => {
  const folder = await freshFolder(t);
  const lines: string[] = [];
  const { logger: log } = createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } });
  const { objects } = await openForTest(t, `file:${folder}`, { log });
  const space = objects.forTenant('acme');
  for (const key of ['a', 'b', 'c']) await space.put(key, key.repeat(1000));
  const damage = async (key: string, size: number) =>
    truncate(path.join(folder, 'acme+', objectPath(key)), size);
  for (const size of [0, 10, 900, 1511]) {
    await damage('b', size);
    await t.throwsAsync(space.get('b'), { code: 'objects.damaged' });
    await t.throwsAsync(space.head('b'), { code: 'objects.damaged' });
  }
  t.deepEqual(
    (await space.list('')).objects.map(({ key }) => key),
    ['a', 'c'],
  );
  t.deepEqual(
    lines.map((line) => JSON.parse(line).object),
    ['acme/b'],
  );
  await space.put('b', 'whole');
  t.is(await space.text('b', 10), 'whole');
  await damage('c', 3);
  t.deepEqual(await space.deleteAll('c'), { deleted: 1, bytes: 0 });
});

test('what others put into the folder is no object and is left alone', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  await space.put('a', 'x');
  const foreign = ['lost+found', 'acme+/.DS_Store', 'acme+/._a=', 'acme+/%41', 'acme+/A='];
  for (const name of foreign) await writeFile(path.join(folder, name), 'foreign');
  await mkdir(path.join(folder, 'acme+/folder='));
  t.deepEqual(
    (await objects.all().list('')).objects.map(({ key }) => key),
    ['acme/a'],
  );
  t.deepEqual(await space.deleteAll(''), { deleted: 1, bytes: 1 });
  const left = await everythingIn(folder);
  for (const name of foreign) t.true(left.includes(name), name);
  await t.throwsAsync(space.get('folder'), { code: 'objects.damaged' });
});

test('processes that share the folder do not disturb each other', async (t) => {
  const folder = await freshFolder(t);
  const stores = await Promise.all([1, 2, 3].map(() => openForTest(t, `file:${folder}`)));
  const spaces = stores.map(({ objects }) => objects.forTenant('acme'));
  // Each delete removes the folders that the others are about to write to.
  const work = spaces.map(async (space, i) => {
    for (let round = 0; round < 60; round += 1) {
      await space.put('deep/down/shared', `${i}`);
      await space.put(`deep/down/own-${i}`, `${i}`);
      if (round % 3 === i) await space.deleteAll('deep/');
      else await space.delete('deep/down/shared');
      await space.delete(`deep/down/own-${i}`);
      t.true((await space.list('deep/')).objects.length <= 4);
    }
  });
  await Promise.all(work);
  const writes = spaces.flatMap((space) =>
    [1, 2, 3].map((n) => space.put('one', `${n}`, { ifAbsent: true })),
  );
  const results = await Promise.allSettled(writes);
  t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.deepEqual(await readdir(path.join(folder, 'tmp')), []);
});

test('a disk that fails is a store that is not available, and readiness says so', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  await space.put('a', 'x');
  await rename(path.join(folder, 'tmp'), path.join(folder, 'gone'));
  await writeFile(path.join(folder, 'tmp'), 'in the way');
  const error = await t.throwsAsync<GatewayError>(space.put('b', 'x'), { code: 'objects.unavailable' });
  t.notRegex(error?.detail ?? '', new RegExp(folder));
  t.is((error!.cause as NodeJS.ErrnoException).code, 'ENOTDIR');
  await t.throwsAsync(objects.check(AbortSignal.timeout(10_000)), { code: 'objects.unavailable' });
  t.is(await space.text('a', 1), 'x');
  await rm(path.join(folder, 'tmp'));
  await rename(path.join(folder, 'gone'), path.join(folder, 'tmp'));
  await objects.check(AbortSignal.timeout(10_000));
  t.is((await space.put('b', 'x')).size, 1);
  t.deepEqual(await readdir(path.join(folder, 'tmp')), []);
});

test('a temporary file that is taken away under a write fails the write and not the store', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const stream = new PassThrough();
  const put = objects.forTenant('acme').put('a', stream);
  stream.write('some');
  await until(async () => (await readdir(path.join(folder, 'tmp'))).length === 1, 20_000);
  for (const name of await readdir(path.join(folder, 'tmp'))) await rm(path.join(folder, 'tmp', name));
  stream.end('thing');
  await t.throwsAsync(put, { code: 'objects.unavailable' });
  t.is(await objects.forTenant('acme').head('a'), undefined);
});

test('a folder that cannot be used ends the start and is named', async (t) => {
  const folder = await freshFolder(t);
  await writeFile(path.join(folder, 'file'), '');
  const error = await t.throwsAsync(openForTest(t, `file:${folder}/file/objects`), {
    instanceOf: ObjectStoreStartError,
  });
  t.regex(
    error?.message ?? '',
    /file\/objects, cannot be used \(ENOTDIR\): OBJECT_STORE_URL names another one$/,
  );
});

test('a reader that stops early gives the file back', async (t) => {
  const folder = await freshFolder(t);
  const { objects } = await openForTest(t, `file:${folder}`);
  const space = objects.forTenant('acme');
  await space.put('a', Buffer.alloc(1_000_000));
  // Other tests of the process have files of their own, one of which may be closed between the two looks.
  const open = async () => {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => ''),
    );
    return (await Promise.all(links)).filter((target) => target.startsWith(folder));
  };
  for (let i = 0; i < 50; i += 1) {
    (await space.get('a'))?.body.destroy();
    await t.throwsAsync(space.get('a', { range: { start: 1_000_000 } }), {
      code: 'objects.range-not-satisfiable',
    });
    await space.head('a');
    for await (const _ of (await space.get('a'))!.body) break;
  }
  await until(async () => (await open()).length === 0);
  t.is((await text((await space.get('a'))!.body)).length, 1_000_000);
});
