import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { ensureAcpToken, warnOfWeakToken } from '../../../foundation/config/acp-token.ts';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';

const test = anyTest as TestFn<{ dataDir: string }>;
const ids = createIds(systemClock);
const ensure = (dataDir: string, more: { configured?: string; production?: boolean } = {}) =>
  ensureAcpToken({ configured: more.configured, production: more.production ?? false, dataDir, ids });

test.beforeEach(async (t) => {
  t.context.dataDir = path.join(await mkdtemp(path.join(tmpdir(), 'acp-token-')), 'data');
});
test.afterEach.always(async (t) => {
  await rm(path.dirname(t.context.dataDir), { recursive: true });
});

test('the variable wins and nothing is written', async (t) => {
  const { dataDir } = t.context;
  t.deepEqual(await ensure(dataDir, { configured: 'mine' }), { source: 'environment', token: 'mine' });
  t.deepEqual(await ensure(dataDir, { configured: 'mine', production: true }), {
    source: 'environment',
    token: 'mine',
  });
  await t.throwsAsync(stat(dataDir), { code: 'ENOENT' });
});

test('outside production a token is made, kept for its owner alone, and found again', async (t) => {
  const { dataDir } = t.context;
  const made = await ensure(dataDir);
  t.is(made.source, 'made');
  t.regex(made.token ?? '', /^acp_[A-Za-z0-9_-]{43}$/);
  const file = path.join(dataDir, 'acp-token');
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.deepEqual(await ensure(dataDir), { source: 'file', token: made.token as string, file });
  t.deepEqual(await readdir(dataDir), ['acp-token']);
});

test('in production none is made, and the one of development is not used', async (t) => {
  const { dataDir } = t.context;
  await ensure(dataDir);
  t.deepEqual(await ensure(dataDir, { production: true }), { source: 'none', token: undefined });
});

test('starts at the same time agree on one token, and exactly one made it', async (t) => {
  const { dataDir } = t.context;
  const results = await Promise.all(Array.from({ length: 20 }, () => ensure(dataDir)));
  t.is(new Set(results.map(({ token }) => token)).size, 1);
  t.is(results.filter(({ source }) => source === 'made').length, 1);
  t.deepEqual(await readdir(dataDir), ['acp-token']);
});

test('two processes that start at the same time agree on one token', async (t) => {
  const { dataDir } = t.context;
  const script = `
    const [{ ensureAcpToken }, { createIds }, { systemClock }] = await Promise.all([
      import(${JSON.stringify(import.meta.resolve('../../../foundation/config/acp-token.ts'))}),
      import(${JSON.stringify(import.meta.resolve('../../../foundation/base/ids.ts'))}),
      import(${JSON.stringify(import.meta.resolve('../../../foundation/base/clock.ts'))}),
    ]);
    const options = { configured: undefined, production: false, dataDir: process.argv[1], ids: createIds(systemClock) };
    process.stdout.write((await ensureAcpToken(options)).token);`;
  const start = () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script, dataDir]);
  const outputs = await Promise.all([start(), start()]);
  const kept = (await readFile(path.join(dataDir, 'acp-token'), 'utf8')).trim();
  t.deepEqual(
    outputs.map(({ stdout }) => stdout),
    [kept, kept],
  );
});

test('access of other users to the file is taken away', async (t) => {
  const { dataDir } = t.context;
  const { token } = await ensure(dataDir);
  const file = path.join(dataDir, 'acp-token');
  await chmod(file, 0o644);
  t.is((await ensure(dataDir)).token, token);
  t.is((await stat(file)).mode & 0o777, 0o600);
});

test('a file that holds no token stops the start, without showing what it holds', async (t) => {
  const { dataDir } = t.context;
  await mkdir(dataDir);
  for (const content of ['', 'geheim', 'x'.repeat(5000)]) {
    await writeFile(path.join(dataDir, 'acp-token'), content);
    const error = await t.throwsAsync(ensure(dataDir), { instanceOf: ConfigurationError });
    t.notRegex(error?.message ?? '', /geheim/);
    t.regex(error?.message ?? '', /acp-token.*SVC_ACP_TOKEN/s);
  }
});

test('a data folder that is a file stops the start with the reason and its variable, and not with that of the token', async (t) => {
  await writeFile(t.context.dataDir, '');
  const error = await t.throwsAsync(ensure(t.context.dataDir), { instanceOf: ConfigurationError });
  t.regex(error?.message ?? '', /ENOTDIR.*SVC_DATA_DIR/s);
  t.notRegex(error?.message ?? '', /SVC_ACP_TOKEN/);
});

test('on a full disk the start says that it is full and what to do, and not to set the variable', async (t) => {
  const { dataDir } = t.context;
  const full = () => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  };
  const options = { configured: undefined, production: false, dataDir, ids: { bytes: full } };
  const error = await t.throwsAsync(ensureAcpToken(options), { instanceOf: ConfigurationError });
  t.regex(error?.message ?? '', /acp-token: cannot be written, its disk is full: make room there/);
  t.notRegex(error?.message ?? '', /SVC_ACP_TOKEN/);
});

test('a token that may be guessed is called weak, and not shown', (t) => {
  const lines: string[] = [];
  const log = { warn: (line: string) => void lines.push(line) };
  warnOfWeakToken('a-secret-of-20-chars', log);
  t.deepEqual(lines, []);
  warnOfWeakToken('s3cret-of-nineteen_', log);
  t.regex(lines.join('\n'), /^SVC_ACP_TOKEN has fewer than 20 characters/);
  t.notRegex(lines.join('\n'), /s3cret/);
});
