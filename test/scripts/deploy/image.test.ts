import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { DEPLOY, output, read } from './deployment-files.ts';

const run = promisify(execFile);
const ENGINE = process.env.ENGINE ?? 'docker';

test('the image runs the release of Node that the tests run', async (t) => {
  const [, image] = /^ARG NODE_IMAGE=(.*)$/m.exec(await read('Dockerfile')) ?? [];
  const { devDependencies } = JSON.parse(await read('package.json'));
  t.is(image, `node:${devDependencies.node}-slim`);
});

test('what the image has compiled is what its gateways, and the migration of Kubernetes, may use', async (t) => {
  const text = (await read('Dockerfile')).replaceAll(/\\\n/g, '');
  const [, compiled] = /^RUN .*\bnode (--.*?) ?kernel\/main\.js/m.exec(text) ?? [];
  const [, started = ''] = /^CMD \["node", (.*), "kernel\/main\.js"\]$/m.exec(text) ?? [];
  t.deepEqual(compiled?.split(' '), JSON.parse(`[${started}]`));
  // Which of them count is V8's to say; the others are Node's own.
  const migration = await read('scripts/deploy/kubernetes/base/migration.yaml');
  t.regex(migration, /args: \[node, --expose-gc, kernel\/main\.js,/);
  t.true(compiled?.includes('--expose-gc'));
});

test('npm has the registry, the token and the authorities of the machine that builds, also for plugins', async (t) => {
  for (const file of ['Dockerfile', 'scripts/deploy/plugins.Dockerfile']) {
    const install = (await read(file)).replaceAll(/\\\n/g, '').match(/^RUN .*npm ci .*$/m)?.[0] ?? '';
    for (const part of ['id=npmrc,target=/root/.npmrc', 'id=ca', 'NODE_EXTRA_CA_CERTS=/run/secrets/ca'])
      t.true(install.includes(part), `${file}: ${part}`);
  }
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

/** An engine that answers `answers` by its first words, notes what it was asked, and fails at everything else. */
async function fakeEngine(t: ExecutionContext, name: string, answers: readonly string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), 'engine-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = path.join(folder, name);
  const cases = answers.map((words) => `"${words}"*) exit 0 ;;`).join('\n');
  const text = `#!/bin/sh\necho "$*" >>"${folder}/asked"\ncase "$*" in\n--version) echo "${name} version 5" ;;\n${cases}\n*) exit 125 ;;\nesac\n`;
  await writeFile(file, text, { mode: 0o755 });
  const script = path.join(DEPLOY, 'try-image.sh');
  const failure = await run('bash', [script], { env: { ...process.env, ENGINE: file } }).catch(
    (error: { stderr: string }) => error,
  );
  return { stderr: failure.stderr, asked: (await readFile(path.join(folder, 'asked'), 'utf8')).split('\n') };
}

test('podman builds on the network that it has', async (t) => {
  const { asked } = await fakeEngine(t, 'podman', ['image inspect', 'network inspect podman']);
  const build = asked.find((line) => line.startsWith('build'));
  t.truthy(build);
  t.notRegex(build!, /--network/);
});

test('an engine without a bridge builds on the network of the host', async (t) => {
  const { asked } = await fakeEngine(t, 'podman', ['image inspect']);
  t.true(asked.some((line) => line.startsWith('build --network host')));
});

test('an engine without BuildKit is refused before anything is pulled or built', async (t) => {
  const { asked, stderr } = await fakeEngine(t, 'docker', ['image inspect']);
  t.regex(stderr, /has no BuildKit/);
  t.false(asked.some((line) => /^(pull|build) /.test(line)));
});
