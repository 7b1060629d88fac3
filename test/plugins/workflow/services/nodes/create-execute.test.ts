import test from 'ava';
import Type from 'typebox';
import type { TenantRecord } from '../../../../../kernel/tenancy/tenants.ts';
import {
  type NodeType,
  StepFailure,
  type StepTask,
} from '../../../../../plugins/workflow/contract/node-types.ts';
import { createExecute } from '../../../../../plugins/workflow/services/nodes/create-execute.ts';
import { createNodeTypes } from '../../../../../plugins/workflow/services/nodes/node-types.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { CREDENTIAL, failureOf, heardLog, redaction } from './kit.ts';

/** Carries out one step whose type does this. */
function execution(execute: NodeType['execute'], nodeType = 'acme/ship', deletedAt: Date | null = null) {
  const { log, lines } = heardLog();
  const clock = manualClock();
  const type = { type: 'acme/ship', summary: 'Ships', config: Type.Object({}), execute };
  const types = createNodeTypes({ builtin: [], contributed: () => [type], log });
  const run = { id: 'run-1', tenantId: 'tenant-1', startedBy: 'anna', userId: null };
  const step = {
    id: 'step-1',
    nodeId: 'ship',
    nodeName: 'Ship it',
    nodeType,
    attempt: 2,
    delivery: 3,
    input: { to: 'Oslo' },
  };
  const tenants = { get: () => ({ deletedAt }) as TenantRecord };
  const carryOut = createExecute({ types, tenants, redactor: redaction, clock, log });
  const call = (signal = new AbortController().signal) =>
    carryOut({ run, step, signal, node: {} } as unknown as Parameters<typeof carryOut>[0]);
  return { call, clock, lines };
}

test('a type is told everything about the attempt, with a key that all its deliveries share', async (t) => {
  const seen: StepTask[] = [];
  const { call, lines } = execution(async (task) => {
    seen.push(task);
    task.log.info('at work');
    return { output: { shipped: true } };
  });
  t.deepEqual((await call()).output, { shipped: true });
  const [task] = seen;
  t.like(task, {
    tenantId: 'tenant-1',
    runId: 'run-1',
    stepRunId: 'step-1',
    nodeId: 'ship',
    nodeName: 'Ship it',
    attempt: 2,
    delivery: 3,
    idempotencyKey: 'step-1-2',
    input: { to: 'Oslo' },
    startedBy: 'anna',
    userId: 'anna',
  });
  t.like(lines[0], { tenant_id: 'tenant-1', run_id: 'run-1', step_run_id: 'step-1', node: 'ship' });
});

test('a type whose plugin is away fails the step, says which one is needed, and may be tried again', async (t) => {
  const gone = await failureOf(t, execution(async () => ({ output: {} }), 'other/pack').call());
  t.is(gone.code, 'node_type_missing');
  t.true(gone.isRetryable);
  t.regex(gone.message, /"other\/pack".*plugin "other"/);
  const unknown = await failureOf(t, execution(async () => ({ output: {} }), 'pack').call());
  t.is(unknown.code, 'node_type_missing');
  t.regex(unknown.message, /"pack"/);
});

test('nothing is done for a tenant that is deleted, and a retry after its restore is up to people', async (t) => {
  const never = async () => t.fail() as never;
  const failure = await failureOf(t, execution(never, undefined, new Date(0)).call());
  t.is(failure.code, 'tenant_deleted');
  t.false(failure.isRetryable);
  t.regex(failure.message, /restored, try again/);
});

test('an attempt has its duration in its record, and what the type tells is redacted', async (t) => {
  const { call, clock } = execution(async () => {
    clock.advance(1_234);
    return { output: { raw: CREDENTIAL }, record: { note: `with ${CREDENTIAL}` } };
  });
  const { output, record } = await call();
  t.is(record?.duration_ms, 1_234);
  t.regex(String(record?.note), /^with \[REDACTED:/);
  // The run's data stay as they are: other steps may need them.
  t.is(output.raw, CREDENTIAL);
});

test('a failure keeps its code and what may be retried; its words and its record are redacted', async (t) => {
  const cause = new Error('why');
  const { call } = execution(async () => {
    throw new StepFailure('not_shipped', `bad ${CREDENTIAL}`, {
      isRetryable: false,
      retryAfterMs: 7,
      cause,
      record: { token_seen: CREDENTIAL },
    });
  });
  const failure = await failureOf(t, call());
  t.like(failure, { code: 'not_shipped', isRetryable: false, retryAfterMs: 7, cause });
  t.false(JSON.stringify([failure.message, failure.record]).includes(CREDENTIAL));
  t.is(failure.record?.duration_ms, 0);
});

test('a record of more than 4 KiB is left out, and that is said', async (t) => {
  const fits = { text: 'ä'.repeat(1_990) };
  const { call: small } = execution(async () => ({ output: {}, record: fits }));
  t.is((await small()).record?.text, fits.text);
  const { call, lines } = execution(async () => ({ output: { a: 1 }, record: { text: 'ä'.repeat(2_050) } }));
  const { output, record } = await call();
  t.deepEqual(output, { a: 1 });
  t.deepEqual(Object.keys(record!), ['duration_ms', 'left_out']);
  t.is(lines.length, 1);
});

test('a record that is no JSON is left out, and the step succeeds', async (t) => {
  const cyclic: Record<string, unknown> = { text: 'a' };
  cyclic.self = cyclic;
  const { call, lines } = execution(async () => ({ output: {}, record: cyclic as never }));
  t.is((await call()).record?.left_out, 'a record that is no JSON');
  t.is(lines.length, 1);
});

test('writes that commit with the step come with the result, whatever object they are a method of', async (t) => {
  class Result {
    readonly output = {};
    readonly #written = 'written';
    async also() {
      throw new Error(this.#written);
    }
  }
  const { also } = await execution(async () => new Result()).call();
  await t.throwsAsync(async () => also?.({} as never), { message: 'written' });
});

test('what is no failure of a step is thrown as it is', async (t) => {
  const defect = new TypeError('a defect');
  t.is(await t.throwsAsync(execution(() => Promise.reject(defect)).call()), defect);
});

test('what a step that was ended from outside throws is thrown as it is', async (t) => {
  const end = new AbortController();
  const late = new StepFailure('late', 'too late');
  const { call } = execution(async () => {
    end.abort();
    throw late;
  });
  t.is(await t.throwsAsync(call(end.signal)), late);
});
