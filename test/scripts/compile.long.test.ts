import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);

test('npm run compile leaves the first start nothing to compile, whatever the environment says', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'compile-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const cache = path.join(folder, 'cache');
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache };
  const files = async () => (await readdir(cache, { recursive: true })).sort();
  await run('npm', ['run', '--silent', 'compile'], {
    env: { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/none' },
  });
  const compiled = await files();
  t.true(compiled.length > 500);
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const settings = { SVC_DATA_DIR: folder, SVC_CONFIG: path.join(folder, 'gateway.yaml') };
  await run('sh', ['-c', `${scripts.start} --migrate-only`], { env: { ...env, ...settings } });
  t.deepEqual(await files(), compiled);
});
