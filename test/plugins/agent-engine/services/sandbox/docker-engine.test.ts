import { ConfigurationError } from 'agent-gateway';
import test from 'ava';
import fc from 'fast-check';
import {
  containerInput,
  containerSpec,
  dockerOptions,
} from '../../../../../plugins/agent-engine/services/sandbox/docker-container.ts';
import { createFrameReader } from '../../../../../plugins/agent-engine/services/sandbox/docker-engine.ts';
import { type FakeDockerOptions, startFakeDocker } from '../../../../support/fake-docker.ts';
import { openTestSandbox, sandboxJob } from '../../../../support/sandbox.ts';
import { until } from '../../../../support/until.ts';

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

for (const isPodman of [false, true])
  test(`on ${isPodman ? 'Podman' : 'Docker'} code and stdin come over the attached stream, the result comes back, and the container is removed`, async (t) => {
    await using setup = await setUp({
      isPodman,
      async onStart(container) {
        await until(() => container.input().endsWith('the rest'));
        // The launcher drops the first line.
        const input = container.input().slice(container.input().indexOf('\n') + 1);
        container.write(1, input.slice(0, 5));
        container.write(2, input.slice(5));
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
      'GET /version',
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

test('an engine that goes away while code runs ends the execution as unavailable', async (t) => {
  await using setup = await setUp({ onStart: () => undefined });
  const run = setup.sandbox.run(sandboxJob('python', '1', { timeoutMs: 60_000 }));
  await until(() => setup.docker.requests.some((line) => line.endsWith('/wait')));
  setup.docker.die();
  await t.throwsAsync(run, { code: 'sandbox.unavailable', message: /does not answer/ });
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
  const result = await setup.sandbox.run(
    sandboxJob('python', '1', { maxOutputBytes: 10, timeoutMs: 60_000 }),
  );
  t.like(result, { status: 'error', stdout: 'xxxxxxxxxx', isTruncated: true });
  t.is(setup.docker.containers.size, 0);
});

for (const [what, status, message] of [
  ['an image that is missing', 404, /lacks the image python:test; the gateway pulls none/],
  ['an engine that refuses', 409, /failed with status 409/],
  ['an engine that fails', 500, /status 500/],
] as const) {
  test(`${what} is unavailable, and the log has what it said`, async (t) => {
    await using setup = await setUp({
      onStart: () => undefined,
      answer: (request) => (request === 'POST /containers/create' ? status : undefined),
    });
    const run = setup.sandbox.run(sandboxJob('python', '1'));
    await t.throwsAsync(run, { code: 'sandbox.unavailable', message });
    t.true(setup.lines.some((line) => line.includes('told to')));
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
  await t.throwsAsync(opening, { instanceOf: ConfigurationError, message: /^DOCKER_HOST/ });
});

const PLAN = {
  job: { code: 'print("geheim 🔑")', language: 'python', tenantId: 'acme' },
  runId: 'r1',
  image: 'python:3.13-slim',
  hasNetwork: false,
  memoryBytes: 1000,
  deadline: 1234,
  isPodman: false,
} as const;

test('a container has no rights, no network, a read-only image, and limits of everything', (t) => {
  t.like(containerSpec(PLAN, 20), {
    name: 'svc-sandbox-r1',
    User: '65534:65534',
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Memory: 1000,
      MemorySwap: 1000,
      PidsLimit: 64,
      NanoCpus: 1_000_000_000,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
    },
    Labels: {
      'svc.sandbox': 'true',
      'svc.sandbox.deadline': '1234',
      'svc.sandbox.run': 'r1',
      'svc.sandbox.tenant': 'acme',
    },
  });
  t.like(containerSpec({ ...PLAN, hasNetwork: true }, 20), { HostConfig: { NetworkMode: 'bridge' } });
});

test('the code is in no field that can be listed, only its size in bytes is', (t) => {
  const spec = containerSpec(PLAN, 20);
  t.false(JSON.stringify(spec).includes('geheim'));
  t.deepEqual(spec.Cmd?.slice(0, 3), ['20', '20', '/sandbox/main.py']);
});

test('half of a surrogate pair does not shift what follows', (t) => {
  const job = { code: 'a\ud800b', stdin: '\udc00z' };
  const spec = containerSpec({ ...PLAN, job: { ...PLAN.job, ...job } }, 1);
  const codeBytes = Number(spec.Cmd![1]);
  t.is(containerInput(job).subarray(0, codeBytes).toString(), 'a\ufffdb');
  t.is(containerInput(job).subarray(codeBytes).toString(), '\ufffdz');
});

test('DOCKER_HOST is a socket or an address', (t) => {
  t.deepEqual(dockerOptions(undefined), { socketPath: '/var/run/docker.sock' });
  t.deepEqual(dockerOptions('unix:///run/user/1000/docker.sock'), {
    socketPath: '/run/user/1000/docker.sock',
  });
  t.deepEqual(dockerOptions('tcp://10.0.0.1:2376'), { host: '10.0.0.1', port: '2376' });
  t.deepEqual(dockerOptions('https://docker.example'), {
    protocol: 'https',
    host: 'docker.example',
    port: '443',
  });
  for (const host of [
    'ssh://x',
    'nonsense',
    'npipe:////./pipe/x',
    'tcp://',
    'tcp://:2375',
    'unix://',
    'unix://run/docker.sock',
  ]) {
    t.throws(() => dockerOptions(host), { instanceOf: ConfigurationError, message: /^DOCKER_HOST: / }, host);
  }
});

function frame(stream: number, data: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
}

test('any split of the frames gives the same output', (t) => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 12 })), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (given, steps) => {
      const seen = { 1: [] as Buffer[], 2: [] as Buffer[] };
      const read = createFrameReader(
        (bytes) => void seen[1].push(Buffer.from(bytes)),
        (bytes) => void seen[2].push(Buffer.from(bytes)),
      );
      const bytes = Buffer.concat(given.map(([stream, data]) => frame(stream, data)));
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const step = steps[turn % steps.length]!;
        read(bytes.subarray(at, at + step));
        at += step;
      }
      for (const stream of [1, 2] as const) {
        const expected = Buffer.concat(given.filter(([its]) => its === stream).map(([, data]) => data));
        t.deepEqual(Buffer.concat(seen[stream]), expected);
      }
    }),
  );
});
