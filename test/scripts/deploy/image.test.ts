import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { DEPLOY, output, read } from './deployment-files.ts';

const run = promisify(execFile);
const ENGINE = process.env.ENGINE ?? 'docker';

test('the image runs the release of Node that the tests run', async (t) => {
  const [, image] = /^ARG NODE_IMAGE=(.*)$/m.exec(await read('Dockerfile')) ?? [];
  const { devDependencies } = JSON.parse(await read('package.json'));
  t.is(image, `node:${devDependencies.node}-slim`);
});

test('the image takes from the repository what is listed, and nothing else', async (t) => {
  const lines = (await read('.dockerignore')).split('\n').filter((line) => /^[^#]/.test(line));
  t.is(lines[0], '*');
  t.true(
    ['!package.json', '!package-lock.json', '!kernel', '!plugins'].every((line) => lines.includes(line)),
  );
  for (const secret of ['**/.env', '**/node_modules']) t.true(lines.includes(secret));
});

/**
 * Takes minutes and an engine, so it is only done when it is asked for:
 * TRY_IMAGE=1 npx ava test/scripts/deploy/image.test.ts
 */
test('the image is built, starts read-only without root, is ready, and stops cleanly', async (t) => {
  const missing = process.env.TRY_IMAGE === '1' ? await withoutEngine() : 'TRY_IMAGE=1 is not set';
  if (missing !== undefined) {
    t.log(`skipped: ${missing}`);
    return t.pass();
  }
  t.timeout(600_000);
  const script = path.join(DEPLOY, 'try-image.sh');
  const { stdout } = await run('bash', [script], { env: { ...process.env, ENGINE } }).catch(
    (error: { stdout: string; stderr: string }) => ({ stdout: `${error.stdout}\n${error.stderr}` }),
  );
  t.regex(stdout, /\/health\/ready: 200/, stdout);
  t.regex(stdout, /the image works/, stdout);
});

async function withoutEngine(): Promise<string | undefined> {
  try {
    return (await output(ENGINE, 'info')) === undefined ? `there is no ${ENGINE}` : undefined;
  } catch {
    return `no container engine answers to ${ENGINE}`;
  }
}
