import test from 'ava';
import { type FakeDockerOptions, startFakeDocker } from '../../../../../support/fake-docker.ts';
import { openTestSandbox, sandboxJob } from '../../../../../support/sandbox.ts';
import { until } from '../../../../../support/until.ts';

async function setUp(options: FakeDockerOptions, settings: Parameters<typeof openTestSandbox>[0] = {}) {
  const docker = await startFakeDocker(options);
  const lines: string[] = [];
  const sandbox = await openTestSandbox({ mode: 'docker', docker_host: docker.host, ...settings }, lines);
  return {
    docker,
    lines,
    sandbox,
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await docker[Symbol.asyncDispose]();
    },
  };
}

test('code and stdin come over the attached stream, the result comes back, and the container is removed', async (t) => {
  await using setup = await setUp({
    async onStart(container) {
      await until(() => container.input().length >= 12);
      container.write(1, container.input().slice(0, 5));
      container.write(2, container.input().slice(5));
      container.exit(4);
    },
  });
  const { docker, sandbox } = setup;
  const result = await sandbox.run(sandboxJob('shell', 'cat -', { stdin: 'the rest' }));
  t.like(result, { status: 'error', exitCode: 4, stdout: 'cat -', stderr: 'the rest' });
  t.is(docker.containers.size, 0);
  const verbs = docker.requests
    .filter((line) => line !== 'GET /containers/json')
    .map((line) => line.replace(/svc-sandbox-[^/]+/, 'x'));
  t.deepEqual(verbs, [
    'POST /containers/create',
    'POST /containers/x/attach',
    'POST /containers/x/start',
    'POST /containers/x/wait',
    'GET /containers/x/json',
    'DELETE /containers/x',
  ]);
});

test('a container that ran out of memory is an error that says so', async (t) => {
  await using setup = await setUp({
    onStart: (container) => container.exit(137, { isOutOfMemory: true }),
  });
  const result = await setup.sandbox.run(sandboxJob('python', '1'));
  t.like(result, { status: 'error', exitCode: null });
  t.regex(result.stderr, /more than 256 MiB of memory/);
});

test('what was written before a timeout is kept, and the container is removed', async (t) => {
  await using setup = await setUp({ onStart: (container) => container.write(1, 'begun') });
  const result = await setup.sandbox.run(sandboxJob('python', '1', { timeoutMs: 300 }));
  t.like(result, { status: 'timeout', exitCode: null, stdout: 'begun' });
  t.is(setup.docker.containers.size, 0);
});

test('an abort is answered at once, and the container is removed behind it', async (t) => {
  await using setup = await setUp({ onStart: () => undefined });
  const controller = new AbortController();
  const run = setup.sandbox.run(sandboxJob('python', '1', { signal: controller.signal }));
  await until(() => setup.docker.requests.some((line) => line.endsWith('/wait')));
  controller.abort(new Error('cancelled'));
  await t.throwsAsync(run, { message: 'cancelled' });
  await until(() => setup.docker.containers.size === 0);
});

test('an endless stream ends the code', async (t) => {
  await using setup = await setUp({
    onStart(container) {
      const block = Buffer.alloc(1024 * 1024, 'x');
      for (let count = 0; count < 40; count += 1) container.write(1, block);
    },
  });
  const result = await setup.sandbox.run(sandboxJob('python', '1', { maxOutputBytes: 10 }));
  t.like(result, { status: 'error', stdout: 'xxxxxxxxxx', isTruncated: true });
  t.is(setup.docker.containers.size, 0);
});

for (const [what, status, message] of [
  ['an image that is missing', 404, /lacks the image python:test; the gateway pulls none/],
  ['an engine that refuses', 409, /failed with status 409/],
  ['an engine that fails', 500, /status 500/],
] as const) {
  test(`${what} is unavailable`, async (t) => {
    await using setup = await setUp({
      onStart: () => undefined,
      answer: (request) => (request === 'POST /containers/create' ? status : undefined),
    });
    const run = setup.sandbox.run(sandboxJob('python', '1'));
    await t.throwsAsync(run, { code: 'sandbox.unavailable', message });
  });
}

test('an engine that is not there is unavailable, and the sweep says so in the log', async (t) => {
  const lines: string[] = [];
  await using sandbox = await openTestSandbox({ mode: 'docker', docker_host: 'unix:///nowhere' }, lines);
  await t.throwsAsync(sandbox.run(sandboxJob('python', '1')), {
    code: 'sandbox.unavailable',
    message: /DOCKER_HOST/,
  });
  await until(() => lines.some((line) => line.includes('leftover containers could not be removed')));
});

test('an engine that does not answer in time is unavailable', async (t) => {
  await using setup = await setUp(
    {
      onStart: () => undefined,
      answer: (request) => (request.endsWith('/start') ? 'never' : undefined),
    },
    { start_timeout: 200 },
  );
  await t.throwsAsync(setup.sandbox.run(sandboxJob('python', '1')), { code: 'sandbox.unavailable' });
  await until(() => setup.docker.containers.size === 0);
});

test('a connection that breaks is unavailable', async (t) => {
  await using setup = await setUp({
    onStart: () => undefined,
    answer: (request) => (request.endsWith('/wait') ? 500 : undefined),
  });
  await t.throwsAsync(setup.sandbox.run(sandboxJob('python', '1')), { code: 'sandbox.unavailable' });
  t.is(setup.docker.containers.size, 0);
});

test('a container that cannot be removed now is told in the log, and the result is not lost', async (t) => {
  await using setup = await setUp({
    onStart: (container) => container.exit(0),
    answer: (request) => (request.startsWith('DELETE') ? 500 : undefined),
  });
  t.like(await setup.sandbox.run(sandboxJob('python', '1')), { status: 'success' });
  t.true(setup.lines.some((line) => line.includes('could not be removed now')));
});

test('containers that a crashed gateway has left are removed at the start, those in use are not', async (t) => {
  await using docker = await startFakeDocker({ onStart: () => undefined });
  docker.leave('old', { 'svc.sandbox': 'true', 'svc.sandbox.deadline': '1000' });
  docker.leave('in-use', { 'svc.sandbox': 'true', 'svc.sandbox.deadline': '99999999999999' });
  await using _sandbox = await openTestSandbox({ mode: 'docker', docker_host: docker.host });
  await until(() => docker.containers.size === 1);
  t.true(docker.containers.has('in-use'));
});

test('a DOCKER_HOST of another kind stops the start and is named', async (t) => {
  const opening = openTestSandbox({ mode: 'docker', docker_host: 'ssh://host' });
  await t.throwsAsync(opening, { instanceOf: TypeError, message: /^DOCKER_HOST/ });
});
