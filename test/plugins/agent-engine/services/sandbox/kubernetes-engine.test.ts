import path from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import test from 'ava';
import pino from 'pino';
import { parseAllDocuments } from 'yaml';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import {
  openKubernetesEngine,
  podState,
} from '../../../../../plugins/agent-engine/services/sandbox/kubernetes-engine.ts';
import { sandboxMetrics } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-metrics.ts';
import { createSandboxRunner } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-runner.ts';
import { readBlocks } from '../../../../examples/readme-blocks.ts';
import { DEPLOY, parse, read, type Yaml } from '../../../../scripts/deploy/deployment-files.ts';
import {
  type FakeJob,
  type FakeKubernetesOptions,
  startFakeKubernetes,
} from '../../../../support/fake-kubernetes.ts';
import { sandboxJob } from '../../../../support/sandbox.ts';
import { until } from '../../../../support/until.ts';
import { fakeMetrics } from '../../fake-metrics.ts';

/** What the script in the pod would report. */
function report(code: number | 'timeout', stdout: string | Buffer = '', stderr = ''): string {
  const encode = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64').replace(/.{76}/g, '$&\n');
  const mark = 'svc-sandbox-report';
  return `\n${mark} stdout ${code}\n${encode(stdout)}\n${mark} stderr\n${encode(stderr)}\n${mark} end\n`;
}

async function setUp(options: FakeKubernetesOptions, { startTimeoutMs = 20_000, leftover = false } = {}) {
  const kubernetes = await startFakeKubernetes(options);
  if (leftover) {
    kubernetes.leave('old', { 'svc.sandbox/deadline': '1000' });
    kubernetes.leave('in-use', { 'svc.sandbox/deadline': '99999999999999' });
  }
  const lines: string[] = [];
  const engine = openKubernetesEngine({
    namespace: undefined,
    images: { python: 'python:test', javascript: 'node:test', shell: 'shell:test' },
    allowNetwork: false,
    memoryBytes: 256 * 1024 * 1024,
    startTimeoutMs,
    clock: systemClock,
    ids: createIds(systemClock),
    log: pino({}, { write: (line) => void lines.push(line) }),
    config: kubernetes.config,
  });
  const sandbox = createSandboxRunner({
    mode: 'k8s-job',
    engine,
    maxConcurrent: 4,
    maxWaiting: 4,
    startTimeoutMs,
    clock: systemClock,
    metrics: sandboxMetrics(fakeMetrics()),
  });
  return {
    kubernetes,
    sandbox,
    lines,
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await kubernetes[Symbol.asyncDispose]();
    },
  };
}

/** A pod that runs and ends with this log. */
function running(log: string, reason?: string) {
  return (job: FakeJob) => {
    job.begin();
    setImmediate(() => job.end(log, reason));
  };
}

test('a job runs the code from its ConfigMap, its report comes back, and it is deleted', async (t) => {
  const seen: FakeJob[] = [];
  await using setup = await setUp({
    onReady(job) {
      seen.push(job);
      running(report(3, 'öut', 'err'))(job);
    },
  });
  const result = await setup.sandbox.run(sandboxJob('python', 'print(1)', { stdin: 'in' }));
  t.like(result, { status: 'error', exitCode: 3, stdout: 'öut', stderr: 'err', isTruncated: false });
  t.like(seen[0]!.configMap(), {
    immutable: true,
    data: { code: 'print(1)', stdin: 'in' },
    metadata: { ownerReferences: [{ kind: 'Job', name: seen[0]!.name, uid: `uid-${seen[0]!.name}` }] },
  });
  t.is(setup.kubernetes.jobs.size, 0);
});

test('more output than is kept is cut off', async (t) => {
  await using setup = await setUp({ onReady: running(report(0, 'x'.repeat(101))) });
  const result = await setup.sandbox.run(sandboxJob('python', '1', { maxOutputBytes: 100 }));
  t.like(result, { status: 'success', stdout: 'x'.repeat(100), isTruncated: true });
});

test('a timeout that the pod reports keeps what was written', async (t) => {
  await using setup = await setUp({ onReady: running(report('timeout', 'begun')) });
  const result = await setup.sandbox.run(sandboxJob('python', '1'));
  t.like(result, { status: 'timeout', exitCode: null, stdout: 'begun' });
});

test('code that ran out of memory, and code that left no report, are errors that say so', async (t) => {
  await using hungry = await setUp({ onReady: running('', 'OOMKilled') });
  const killed = await hungry.sandbox.run(sandboxJob('python', '1'));
  t.like(killed, { status: 'error', exitCode: null });
  t.regex(killed.stderr, /more than 256 MiB/);
  await using silent = await setUp({ onReady: running('noise') });
  t.regex((await silent.sandbox.run(sandboxJob('python', '1'))).stderr, /no report/);
});

test('a watch that is closed or refused costs time only', async (t) => {
  await using setup = await setUp({
    answer: (request) => (request.startsWith('WATCH') ? 500 : undefined),
    onReady: running(report(0, 'polled')),
  });
  t.like(await setup.sandbox.run(sandboxJob('python', '1')), { status: 'success', stdout: 'polled' });

  await using closing = await setUp({
    onReady(job) {
      job.begin();
      void until(() => closing.kubernetes.requests.some((line) => line.startsWith('WATCH'))).then(() => {
        closing.kubernetes.closeWatches();
        job.end(report(0, 'after'));
      });
    },
  });
  t.like(await closing.sandbox.run(sandboxJob('python', '1')), { status: 'success', stdout: 'after' });
});

test('one bad answer about the pod does not give up code that runs', async (t) => {
  let failures = 0;
  await using setup = await setUp({
    answer: (request) =>
      request.startsWith('GET') && request.endsWith('/pods') && failures++ === 0 ? 500 : undefined,
    onReady: running(report(0, 'fine')),
  });
  t.like(await setup.sandbox.run(sandboxJob('python', '1')), { status: 'success', stdout: 'fine' });
  t.true(failures > 1);
});

for (const [status, message] of [
  [403, /does not let the gateway make jobs in the namespace sandbox/],
  [404, /no namespace sandbox/],
  [409, /status 409/],
  [500, /status 500/],
] as const) {
  test(`a job that the API answers with ${status} is unavailable, and the log has what it said`, async (t) => {
    await using setup = await setUp({
      answer: (request) => (request.startsWith('POST') && request.endsWith('/jobs') ? status : undefined),
      onReady: () => undefined,
    });
    const run = setup.sandbox.run(sandboxJob('python', '1'));
    await t.throwsAsync(run, { code: 'sandbox.unavailable', message });
    t.true(setup.lines.some((line) => line.includes('told to')));
  });
}

test('without its ConfigMap the job is deleted', async (t) => {
  await using setup = await setUp({
    answer: (request) => (request.endsWith('/configmaps') ? 403 : undefined),
    onReady: () => undefined,
  });
  await t.throwsAsync(setup.sandbox.run(sandboxJob('python', '1')), { code: 'sandbox.unavailable' });
  t.is(setup.kubernetes.jobs.size, 0);
});

test('a pod that never can begin is unavailable at once, with the reason', async (t) => {
  await using image = await setUp({ onReady: (job) => job.wait('ImagePullBackOff') });
  const run = image.sandbox.run(sandboxJob('python', '1'));
  await t.throwsAsync(run, { code: 'sandbox.unavailable', message: /ImagePullBackOff.*cannot pull/ });
  await using evicted = await setUp({ onReady: (job) => job.fail('Evicted') });
  await t.throwsAsync(evicted.sandbox.run(sandboxJob('python', '1')), { message: /Evicted/ });
  t.is(evicted.kubernetes.jobs.size, 0);
});

test('a pod that does not begin in time is unavailable, and its job is deleted', async (t) => {
  await using setup = await setUp(
    { onReady: (job) => job.wait('ContainerCreating') },
    { startTimeoutMs: 300 },
  );
  await t.throwsAsync(setup.sandbox.run(sandboxJob('python', '1')), { code: 'sandbox.unavailable' });
  await until(() => setup.kubernetes.jobs.size === 0);
});

test('an abort is answered at once, and the job is deleted behind it', async (t) => {
  const begun = Promise.withResolvers<void>();
  await using setup = await setUp({
    onReady(job) {
      job.begin();
      begun.resolve();
    },
  });
  const controller = new AbortController();
  const run = setup.sandbox.run(sandboxJob('python', '1', { signal: controller.signal }));
  await begun.promise;
  controller.abort(new Error('cancelled'));
  await t.throwsAsync(run, { message: 'cancelled' });
  await until(() => setup.kubernetes.jobs.size === 0);
});

test('jobs that a crashed gateway has left are deleted at the start, those in use are not', async (t) => {
  await using setup = await setUp({ onReady: () => undefined }, { leftover: true });
  await until(() => setup.kubernetes.jobs.size === 1);
  t.true(setup.kubernetes.jobs.has('in-use'));
});

test('a job that cannot be deleted now is told in the log, and the result is not lost', async (t) => {
  await using setup = await setUp({
    answer: (request) => (request.startsWith('DELETE') ? 500 : undefined),
    onReady: running(report(0)),
  });
  t.like(await setup.sandbox.run(sandboxJob('python', '1')), { status: 'success' });
  t.true(setup.lines.some((line) => line.includes('could not be deleted now')));
});

function pod(phase: string, state?: object, reason?: string): V1Pod {
  return {
    metadata: { name: 'p' },
    status: {
      phase,
      ...(reason === undefined ? {} : { reason }),
      ...(state === undefined ? {} : { containerStatuses: [{ state }] as never }),
    },
  };
}

const CASES: [string, V1Pod[], ReturnType<typeof podState>][] = [
  ['no pod', [], { phase: 'waiting' }],
  ['one that is not scheduled', [pod('Pending')], { phase: 'waiting' }],
  ['one that is made', [pod('Pending', { waiting: { reason: 'ContainerCreating' } })], { phase: 'waiting' }],
  [
    'one without its image',
    [pod('Pending', { waiting: { reason: 'ErrImagePull' } })],
    { phase: 'stuck', reason: 'ErrImagePull' },
  ],
  ['one that runs', [pod('Running', { running: {} })], { phase: 'running', pod: 'p' }],
  [
    'one that is through',
    [pod('Succeeded', { terminated: { exitCode: 0, reason: 'Completed' } })],
    { phase: 'ended', pod: 'p', isOutOfMemory: false },
  ],
  [
    'one out of memory',
    [pod('Failed', { terminated: { exitCode: 137, reason: 'OOMKilled' } })],
    { phase: 'ended', pod: 'p', isOutOfMemory: true },
  ],
  ['one that was evicted', [pod('Failed', undefined, 'Evicted')], { phase: 'stuck', reason: 'Evicted' }],
];

for (const [what, pods, expected] of CASES) {
  test(`${what} is ${expected.phase}`, (t) => {
    t.deepEqual(podState(pods), expected);
  });
}

test('the role that the README shows allows what the engine asks for, and nothing else', async (t) => {
  await using setup = await setUp({ onReady: running(report(0, 'fine')) }, { leftover: true });
  t.like(await setup.sandbox.run(sandboxJob('python', '1')), { status: 'success' });
  const verbs: Record<string, string> = { POST: 'create', DELETE: 'delete', WATCH: 'watch' };
  const asked = setup.kubernetes.requests.map((line) => {
    const [, method = '', group = '', resource = '', name, sub] =
      /^(\w+) \/apis?\/(?:(\w+)\/)?v1\/namespaces\/sandbox\/(\w+)(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(line)!;
    return `${verbs[method] ?? (name ? 'get' : 'list')} ${group}/${resource}${sub ? `/${sub}` : ''}`;
  });

  const role = (await shownManifests()).find(({ kind }) => kind === 'Role')!;
  const granted = role.rules.flatMap((rule: Record<'apiGroups' | 'resources' | 'verbs', string[]>) =>
    rule.verbs.map((verb) => `${verb} ${rule.apiGroups[0]}/${rule.resources[0]}`),
  );
  t.deepEqual([...new Set(asked)].sort(), granted.sort());
});

test('the binding that the README shows is for the service account of the manifests', async (t) => {
  const { subjects } = (await shownManifests()).find(({ kind }) => kind === 'RoleBinding')!;
  const kubernetes = path.join(DEPLOY, 'kubernetes');
  const [account] = await parse(path.join(kubernetes, 'base/service-account.yaml'));
  const [overlay] = await parse(path.join(kubernetes, 'overlays/example/kustomization.yaml'));
  const { namespace } = overlay;
  t.deepEqual(subjects, [{ kind: 'ServiceAccount', name: account.metadata.name, namespace }]);
});

/** The manifests of the README. */
async function shownManifests(): Promise<Yaml[]> {
  const shown = readBlocks(await read('plugins/agent-engine/services/sandbox/README.md'));
  const { text } = shown.find(({ language }) => language === 'yaml')!;
  return parseAllDocuments(text).map((document) => document.toJS());
}
