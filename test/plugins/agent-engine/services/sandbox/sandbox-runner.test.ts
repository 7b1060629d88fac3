import { manualClock } from 'agent-gateway/testing';
import test from 'ava';
import fc from 'fast-check';
import type { SandboxEnd, SandboxJob } from '../../../../../plugins/agent-engine/contract.ts';
import {
  type EngineRun,
  MAX_CODE_BYTES,
  MAX_DISCARDED_BYTES,
  MAX_OUTPUT_BYTES,
  MAX_STDIN_BYTES,
} from '../../../../../plugins/agent-engine/services/sandbox/engine.ts';
import { sandboxMetrics } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-metrics.ts';
import {
  createOutputCapture,
  createSandboxRunner,
  disabledSandbox,
} from '../../../../../plugins/agent-engine/services/sandbox/sandbox-runner.ts';
import { fakeMetrics, type Measured } from '../../fake-metrics.ts';

function job(overrides: Partial<SandboxJob> = {}): SandboxJob {
  return {
    tenantId: 'acme',
    language: 'python',
    code: 'print(1)',
    timeoutMs: 5000,
    maxOutputBytes: 100,
    allowNetwork: false,
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** A sandbox whose engine does what the test says. */
function setUp(run: (run: EngineRun) => Promise<SandboxEnd>, options: { startTimeoutMs?: number } = {}) {
  const measured: Measured[] = [];
  const valuesOf = (wanted: string) =>
    measured.flatMap(([name, labels, value]) => (name === wanted ? [`${labels} ${value}`.trim()] : []));
  const clock = manualClock();
  let isDisposed = false;
  const sandbox = createSandboxRunner({
    mode: 'docker',
    engine: {
      graceMs: 0,
      run,
      async [Symbol.asyncDispose]() {
        isDisposed = true;
      },
    },
    maxConcurrent: 1,
    maxWaiting: 4,
    startTimeoutMs: 5000,
    ...options,
    clock,
    metrics: sandboxMetrics(fakeMetrics(measured)),
  });
  return { sandbox, valuesOf, clock, isDisposed: () => isDisposed };
}

function stopped(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener('abort', () => resolve());
  });
}

test('without a mode every execution is refused', async (t) => {
  await using sandbox = disabledSandbox();
  t.is(sandbox.mode, undefined);
  await t.throwsAsync(sandbox.run(job()), { code: 'sandbox.disabled' });
});

test('the result says how the code ended, what it wrote, and how long it took', async (t) => {
  const { sandbox, valuesOf, clock } = setUp(async ({ started, stdout, stderr }) => {
    clock.advance(700);
    started();
    clock.advance(300);
    stdout(Buffer.from('out'));
    stderr(Buffer.from('err'));
    return { exitCode: 3 };
  });
  t.deepEqual(await sandbox.run(job()), {
    status: 'error',
    exitCode: 3,
    stdout: 'out',
    stderr: 'err',
    isTruncated: false,
    durationMs: 300,
  });
  t.deepEqual(valuesOf('sandbox_runs_total'), ['python error 1']);
  t.deepEqual(valuesOf('sandbox_run_duration_seconds'), ['python 0.3']);
  t.deepEqual([valuesOf('sandbox_running').at(-1), valuesOf('sandbox_waiting').at(-1)], ['0', '0']);
});

test('the time of the code counts from its start', async (t) => {
  const { sandbox } = setUp(async ({ started, stop, stdout }) => {
    started();
    stdout(Buffer.from('half'));
    await stopped(stop);
    throw new Error('the connection is closed');
  });
  t.like(await sandbox.run(job({ timeoutMs: 20 })), { status: 'timeout', exitCode: null, stdout: 'half' });
});

test('an engine that watches the time itself tells of a timeout', async (t) => {
  const { sandbox } = setUp(async ({ started }) => {
    started();
    return { exitCode: null, isTimeout: true };
  });
  t.like(await sandbox.run(job()), { status: 'timeout', exitCode: null });
});

test('code that does not begin in time is unavailable', async (t) => {
  const { sandbox, valuesOf } = setUp(
    async ({ stop }) => {
      await stopped(stop);
      return { exitCode: null };
    },
    { startTimeoutMs: 20 },
  );
  await t.throwsAsync(sandbox.run(job()), { code: 'sandbox.unavailable' });
  t.deepEqual(valuesOf('sandbox_runs_total'), ['python unavailable 1']);
  t.deepEqual(valuesOf('sandbox_run_duration_seconds'), []);
});

test('an aborted execution throws the reason at once, and keeps its place until the engine is through', async (t) => {
  const engineDone = Promise.withResolvers<void>();
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const { sandbox, valuesOf } = setUp(async ({ started }) => {
    started();
    runs += 1;
    begun.resolve();
    if (runs === 1) await engineDone.promise;
    return { exitCode: 0 };
  });
  const controller = new AbortController();
  const aborted = sandbox.run(job({ signal: controller.signal }));
  const next = sandbox.run(job());
  await begun.promise;
  controller.abort(new Error('cancelled'));
  await t.throwsAsync(aborted, { message: 'cancelled' });
  t.is(runs, 1);
  engineDone.resolve();
  t.like(await next, { status: 'success' });
  t.deepEqual(valuesOf('sandbox_runs_total'), ['python aborted 1', 'python success 1']);
  t.deepEqual(valuesOf('sandbox_run_duration_seconds'), []);
  await t.throwsAsync(sandbox.run(job({ signal: controller.signal })), { message: 'cancelled' });
});

test('too much output ends the code', async (t) => {
  const { sandbox } = setUp(async ({ started, stop, stdout }) => {
    started();
    const block = Buffer.alloc(1024 * 1024, 'x');
    for (let bytes = 0; bytes <= MAX_DISCARDED_BYTES && !stop.aborted; bytes += block.length) stdout(block);
    await stopped(stop);
    return { exitCode: 0 };
  });
  const result = await sandbox.run(job());
  t.like(result, { status: 'error', exitCode: null, isTruncated: true });
  t.is(result.stdout.length, 100);
  t.true(result.stderr.includes('it wrote too much'));
});

test('no job makes the gateway keep more output than it has room for', async (t) => {
  const { sandbox } = setUp(async ({ started, stdout }) => {
    started();
    stdout(Buffer.alloc(MAX_OUTPUT_BYTES + 1, 'x'));
    return { exitCode: 0 };
  });
  const result = await sandbox.run(job({ maxOutputBytes: Number.MAX_SAFE_INTEGER }));
  t.is(result.stdout.length, MAX_OUTPUT_BYTES);
  t.true(result.isTruncated);
});

test('code and stdin have a size, in bytes', async (t) => {
  const { sandbox } = setUp(async () => ({ exitCode: 0 }));
  const half = 'é'.repeat(MAX_CODE_BYTES / 2);
  t.like(await sandbox.run(job({ code: half })), { status: 'success' });
  await t.throwsAsync(sandbox.run(job({ code: `${half}x` })), { code: 'sandbox.too-large', message: /code/ });
  const stdin = 'x'.repeat(MAX_STDIN_BYTES + 1);
  await t.throwsAsync(sandbox.run(job({ stdin })), { code: 'sandbox.too-large', message: /stdin/ });
});

test('an engine that fails frees its place', async (t) => {
  let runs = 0;
  const { sandbox, valuesOf } = setUp(async () => {
    runs += 1;
    if (runs === 1) throw new Error('broken');
    return { exitCode: 0 };
  });
  await t.throwsAsync(sandbox.run(job()), { message: 'broken' });
  t.like(await sandbox.run(job()), { status: 'success' });
  t.deepEqual(valuesOf('sandbox_runs_total'), ['python failed 1', 'python success 1']);
  t.deepEqual(valuesOf('sandbox_run_duration_seconds'), []);
});

test('disposing it ends what runs and what waits, waits for the engine, and lets nothing more begin', async (t) => {
  let isThrough = false;
  const begun = Promise.withResolvers<void>();
  const { sandbox, isDisposed } = setUp(async ({ started, stop }) => {
    started();
    begun.resolve();
    await stopped(stop);
    await new Promise((resolve) => setImmediate(resolve));
    isThrough = true;
    return { exitCode: null };
  });
  const runs = [sandbox.run(job()), sandbox.run(job())];
  const ended = Promise.allSettled(runs);
  await begun.promise;
  await sandbox[Symbol.asyncDispose]();
  t.true(isThrough && isDisposed());
  for (const end of await ended) t.like(end, { status: 'rejected', reason: { code: 'sandbox.unavailable' } });
  await t.throwsAsync(sandbox.run(job()), { code: 'sandbox.unavailable' });
});

test('an execution that is aborted between its turn and its start never begins', async (t) => {
  const { sandbox } = setUp(async () => {
    t.fail();
    return { exitCode: 0 };
  });
  const controller = new AbortController();
  const run = sandbox.run(job({ signal: controller.signal }));
  controller.abort(new Error('cancelled'));
  await t.throwsAsync(run, { message: 'cancelled' });
});

test('any split of the bytes is kept alike, up to the cap', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), fc.nat(60), (parts, maxBytes) => {
      const capture = createOutputCapture(maxBytes, () => t.fail());
      for (const part of parts) capture.write(part);
      const all = Buffer.concat(parts);
      t.is(capture.isTruncated(), all.length > maxBytes);
      const whole = createOutputCapture(maxBytes, () => t.fail());
      whole.write(all);
      t.is(capture.text(), whole.text());
      if (all.length <= maxBytes)
        t.is(capture.text(), new TextDecoder('utf-8', { ignoreBOM: true }).decode(all));
    }),
  );
});

test('a character that the cap cuts is left out, and bytes that are no UTF-8 are replaced', (t) => {
  const cut = createOutputCapture(4, () => t.fail());
  cut.write(Buffer.from('aé€'));
  t.is(cut.text(), 'aé');
  const binary = createOutputCapture(10, () => t.fail());
  binary.write(Buffer.from([0x61, 0xff, 0x00, 0x62]));
  t.is(binary.text(), 'a\ufffd\0b');
});

test('what is kept does not change with the buffer that it came in', (t) => {
  const capture = createOutputCapture(10, () => t.fail());
  const bytes = Buffer.from('abc');
  capture.write(bytes);
  bytes.fill(0);
  t.is(capture.text(), 'abc');
});

test('a flood is told of once', (t) => {
  let floods = 0;
  const capture = createOutputCapture(1, () => {
    floods += 1;
  });
  const block = Buffer.alloc(1024 * 1024, 'x');
  for (let bytes = 0; bytes < MAX_DISCARDED_BYTES; bytes += block.length) capture.write(block);
  t.is(floods, 0);
  for (let more = 0; more < 5; more += 1) capture.write(block);
  t.is(floods, 1);
  t.is(capture.text(), 'x');
});
