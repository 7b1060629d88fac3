import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  createSecrets,
  type SecretOrigin,
  type SecretsOptions,
} from '../../../foundation/secrets/secrets.ts';

const ENV = {
  OPENAI_KEY: 'operator-value',
  TENANT_KEY: 'tenant-value',
  EMPTY: '',
  DATABASE_URL: 'postgres://u:p@h/d',
};

/** A folder of secrets with a neighbour outside of it, and secrets that read from it. */
async function openSecrets(t: ExecutionContext, options: Partial<SecretsOptions> = {}) {
  const root = await mkdtemp(path.join(tmpdir(), 'secrets-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const folder = path.join(root, 'secrets');
  await mkdir(folder);
  await writeFile(path.join(root, 'outside'), 'outside-value');
  const resolved: string[] = [];
  const secrets = createSecrets({
    env: ENV,
    folder,
    tenantMayName: ['TENANT_*', 'file:*'],
    onResolved: (value) => resolved.push(value),
    ...options,
  });
  const write = (name: string, content: string | Uint8Array) => writeFile(path.join(folder, name), content);
  return { root, folder, secrets, resolved, write };
}

type Opened = Awaited<ReturnType<typeof openSecrets>>;

/** Checks that a reference is not resolved, that the error names it, and that nothing was handed out. */
async function fails(
  t: ExecutionContext,
  { secrets, resolved }: Opened,
  from: SecretOrigin,
  reference: string,
  code: string,
): Promise<void> {
  const before = resolved.length;
  const error = await t.throwsAsync(secrets.resolve(reference, from));
  t.is((error as { code?: string }).code, code, `${from} ${reference}: ${error.message}`);
  if (code !== 'secret.malformed') t.true(error.message.includes(reference), error.message);
  t.notRegex(error.message, /value/);
  t.is(resolved.length, before);
}

const ORIGINS: readonly SecretOrigin[] = ['operator', 'tenant'];

test('the operator may name every variable, a tenant only those that are listed', async (t) => {
  const opened = await openSecrets(t);
  const { secrets, resolved } = opened;
  t.is(await secrets.resolve('env:OPENAI_KEY', 'operator'), 'operator-value');
  t.is(await secrets.resolve('env:TENANT_KEY', 'operator'), 'tenant-value');
  t.is(await secrets.resolve('env:TENANT_KEY', 'tenant'), 'tenant-value');
  t.deepEqual(resolved, ['operator-value', 'tenant-value', 'tenant-value']);
  await fails(t, opened, 'tenant', 'env:DATABASE_URL', 'secret.refused');
  // Whether a variable exists is none of a tenant's business.
  await fails(t, opened, 'tenant', 'env:NOT_SET', 'secret.refused');
});

test('a variable that is not set or empty gives no secret', async (t) => {
  const opened = await openSecrets(t);
  for (const name of ['NOT_SET', 'EMPTY', 'constructor', '__proto__', 'toString']) {
    await fails(t, opened, 'operator', `env:${name}`, 'secret.not-found');
  }
  await fails(t, opened, 'tenant', 'env:TENANT_NOT_SET', 'secret.not-found');
});

test('what is no reference is refused', async (t) => {
  const opened = await openSecrets(t);
  for (const from of ORIGINS) {
    for (const text of ['', 'operator-value', 'env:A-B', 'file:a\0b']) {
      await fails(t, opened, from, text, 'secret.malformed');
    }
  }
});

test('an origin that is not known counts as a tenant', async (t) => {
  const opened = await openSecrets(t);
  await fails(t, opened, 'admin' as never, 'env:OPENAI_KEY', 'secret.refused');
  await fails(t, opened, undefined as never, `file:${opened.root}/outside`, 'secret.refused');
  await symlink('../outside', path.join(opened.folder, 'link'));
  await fails(t, opened, undefined as never, 'file:link', 'secret.refused');
});

test('a file is read anew each time, so a rotated secret counts at once', async (t) => {
  const { secrets, resolved, write, folder } = await openSecrets(t);
  for (const from of ORIGINS) {
    for (const value of ['first', 'other', 'third']) {
      await write('key', `${value}\n`);
      t.is(await secrets.resolve('file:key', from), value);
    }
    await write('new', 'renamed');
    await rename(path.join(folder, 'new'), path.join(folder, 'key'));
    t.is(await secrets.resolve('file:key', from), 'renamed');
  }
  t.deepEqual(resolved, ['first', 'other', 'third', 'renamed', 'first', 'other', 'third', 'renamed']);
});

test("Kubernetes' links are followed, and a swapped folder counts at once", async (t) => {
  const { secrets, folder } = await openSecrets(t);
  const publish = async (version: string, value: string) => {
    await mkdir(path.join(folder, version));
    await writeFile(path.join(folder, version, 'token'), value);
    await symlink(version, path.join(folder, '..data_tmp'));
    await rename(path.join(folder, '..data_tmp'), path.join(folder, '..data'));
  };
  await publish('..2030_01_01', 'first-token');
  await symlink('..data/token', path.join(folder, 'token'));
  for (const from of ORIGINS) t.is(await secrets.resolve('file:token', from), 'first-token');
  await publish('..2030_01_02', 'second-token');
  await rm(path.join(folder, '..2030_01_01'), { recursive: true });
  for (const from of ORIGINS) t.is(await secrets.resolve('file:token', from), 'second-token');
  t.is(await secrets.resolve('file:..data/token', 'tenant'), 'second-token');
});

test('the secrets folder itself may be a link', async (t) => {
  const { root, folder, write } = await openSecrets(t);
  await write('key', 'linked');
  await symlink('secrets', path.join(root, 'link'));
  const { secrets } = await openSecrets(t, { folder: path.join(root, 'link') });
  for (const from of ORIGINS) t.is(await secrets.resolve('file:key', from), 'linked');
  t.is(await secrets.resolve(`file:${folder}/key`, 'operator'), 'linked');
});

test('the operator may name any path, a tenant none that leads out of the folder', async (t) => {
  const opened = await openSecrets(t);
  const { root, folder, secrets, write } = opened;
  await write('key', 'inside');
  await symlink('../outside', path.join(folder, 'link'));
  await symlink('..', path.join(folder, 'up'));
  await symlink(path.join(root, 'outside'), path.join(folder, 'absolute-link'));
  await symlink('/proc/self', path.join(folder, 'self'));
  // A folder whose name begins like that of the secrets.
  await mkdir(path.join(root, 'secrets-of-others'));
  await writeFile(path.join(root, 'secrets-of-others', 'key'), 'other-value');
  await symlink('../secrets-of-others/key', path.join(folder, 'sibling'));

  const waysOut = [
    'file:../outside',
    'file:a/../../outside',
    'file:link',
    'file:up/outside',
    'file:absolute-link',
    'file:sibling',
    `file:${root}/outside`,
    `file://${root}/outside`,
    `file:..//secrets-of-others/key`,
  ];
  for (const reference of waysOut) {
    await fails(t, opened, 'tenant', reference, 'secret.refused');
    t.regex(await secrets.resolve(reference, 'operator'), /^(outside|other)-value$/);
  }
  for (const reference of [
    `file:${folder}/key`,
    'file:self/environ',
    'file:up/secrets-of-others',
    'file:up',
  ]) {
    await fails(t, opened, 'tenant', reference, 'secret.refused');
  }
  // Whether something outside exists is none of a tenant's business.
  await fails(t, opened, 'tenant', 'file:../nothing', 'secret.refused');
  for (const reference of ['file:key', 'file:./key', 'file:x/../key']) {
    t.is(await secrets.resolve(reference, 'tenant'), 'inside');
  }
});

test('a tenant may name no file when none is listed', async (t) => {
  const opened = await openSecrets(t, { tenantMayName: [] });
  await opened.write('key', 'inside-value');
  await fails(t, opened, 'tenant', 'file:key', 'secret.refused');
  await fails(t, opened, 'tenant', 'env:TENANT_KEY', 'secret.refused');
  t.is(await opened.secrets.resolve('file:key', 'operator'), 'inside-value');
});

test('one line break at the end is no part of the secret, everything else is', async (t) => {
  const { secrets, write } = await openSecrets(t);
  const pem = '-----BEGIN KEY-----\nabc\n-----END KEY-----';
  const cases: [string, string][] = [
    ['a\n', 'a'],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    ['a', 'a'],
    [' a ', ' a '],
    ['a\r', 'a\r'],
    [`${pem}\n`, pem],
    ['\ufeffgeheim ü', 'geheim ü'],
  ];
  for (const [content, value] of cases) {
    await write('key', content);
    t.is(await secrets.resolve('file:key', 'tenant'), value, JSON.stringify(content));
  }
});

test('a file that is not there or empty gives no secret', async (t) => {
  const opened = await openSecrets(t);
  await opened.write('empty', '');
  await opened.write('break', '\r\n');
  await symlink('nowhere', path.join(opened.folder, 'dangling'));
  for (const from of ORIGINS) {
    for (const name of ['missing', 'a/b', 'empty', 'break', 'empty/below', 'dangling', 'x'.repeat(300)]) {
      await fails(t, opened, from, `file:${name}`, 'secret.not-found');
    }
  }
  const nowhere = await openSecrets(t, { folder: path.join(opened.root, 'nowhere') });
  for (const from of ORIGINS) await fails(t, nowhere, from, 'file:key', 'secret.not-found');
});

test('64 KiB is a secret, one byte more is none', async (t) => {
  const opened = await openSecrets(t);
  await opened.write('large', 'x'.repeat(65_536));
  await opened.write('huge', 'x'.repeat(65_537));
  for (const from of ORIGINS) {
    t.is((await opened.secrets.resolve('file:large', from)).length, 65_536);
    await fails(t, opened, from, 'file:huge', 'secret.unusable');
  }
});

test('what is not text is no secret', async (t) => {
  const opened = await openSecrets(t);
  await opened.write('zero', 'se\0cret');
  await opened.write('binary', Uint8Array.of(0xff, 0xfe, 0x80, 0x41));
  await opened.write('half', Uint8Array.of(0x41, 0xc3));
  for (const name of ['zero', 'binary', 'half'])
    await fails(t, opened, 'tenant', `file:${name}`, 'secret.unusable');
});

test('folders, pipes and devices are refused without waiting for them', async (t) => {
  const opened = await openSecrets(t);
  await mkdir(path.join(opened.folder, 'folder'));
  execFileSync('mkfifo', [path.join(opened.folder, 'pipe')]);
  const since = performance.now();
  for (const from of ORIGINS) {
    await fails(t, opened, from, 'file:folder', 'secret.unusable');
    await fails(t, opened, from, 'file:pipe', 'secret.unusable');
  }
  for (const device of ['/dev/zero', '/dev/null', '/dev/tty', '/']) {
    await fails(t, opened, 'operator', `file:${device}`, 'secret.unusable');
  }
  t.true(performance.now() - since < 20_000);
});

test('a file whose size the system does not tell is read to its bound', async (t) => {
  const opened = await openSecrets(t);
  t.regex(await opened.secrets.resolve('file:/proc/sys/kernel/ostype', 'operator'), /^Linux$/);
  // Its size is said to be 0.
  await fails(t, opened, 'operator', 'file:/proc/self/smaps', 'secret.unusable');
});

test('a file that the system does not let be read is told with the system’s reason', async (t) => {
  const opened = await openSecrets(t);
  await symlink('loop', path.join(opened.folder, 'loop'));
  for (const from of ORIGINS) await fails(t, opened, from, 'file:loop', 'secret.unreadable');
  const error = await t.throwsAsync(opened.secrets.resolve('file:loop', 'operator'));
  t.regex(error.message, /\(ELOOP\)/);
});

test('many who ask at one time get one value, and a failure is not kept', async (t) => {
  const { secrets, write, resolved } = await openSecrets(t);
  const failed = await Promise.allSettled(
    Array.from({ length: 50 }, () => secrets.resolve('file:key', 'tenant')),
  );
  t.true(failed.every(({ status }) => status === 'rejected'));
  await write('key', 'there');
  const values = await Promise.all(Array.from({ length: 200 }, () => secrets.resolve('file:key', 'tenant')));
  t.deepEqual([...new Set(values)], ['there']);
  t.is(resolved.length, 200);
});
