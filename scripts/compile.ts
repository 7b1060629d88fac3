import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/*
 * `npm run compile`, and `npm ci` at its end: goes through a start as `npm start` makes it, on an empty folder, so that
 * what it loads is compiled before the first one. Nothing of the environment but what concerns the compiled code is
 * handed on: a database that it names is not this one's to migrate.
 */

const ROOT = path.join(import.meta.dirname, '..');
/** Milliseconds: it takes seconds, half a minute on a machine that has much else to do. */
const DEADLINE = 120_000;
const HANDED_ON = ['PATH', 'NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE'];

async function main(): Promise<void> {
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-compile-'));
  const env: NodeJS.ProcessEnv = { SVC_DATA_DIR: folder, SVC_CONFIG: path.join(folder, 'gateway.yaml') };
  for (const name of HANDED_ON) if (process.env[name] !== undefined) env[name] = process.env[name];
  try {
    // With the flags of `npm start`: V8 takes compiled code only with those that it was made with.
    const start = spawn('sh', ['-c', `${scripts.start} --migrate-only`], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: DEADLINE,
    });
    const [code, signal] = await once(start, 'exit');
    if (code !== 0) throw new Error(`it ended with ${signal ?? code}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`The first start has to compile what it loads: ${String(error)}\n`);
  process.exitCode = 1;
});
