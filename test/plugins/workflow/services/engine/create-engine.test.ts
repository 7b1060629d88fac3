import { setImmediate } from 'node:timers/promises';
import type { Identity } from 'agent-gateway';
import test from 'ava';
import fc from 'fast-check';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { fingerprintOf } from '../../../../../plugins/workflow/contract/fingerprint.ts';
import type { Json } from '../../../../../plugins/workflow/contract/graph.ts';
import type { Command, Verdict } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState, StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import {
  createEngine,
  type EngineParts,
} from '../../../../../plugins/workflow/services/engine/create-engine.ts';
import type { CompiledGraph } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { jsonEqual } from '../../../../../plugins/workflow/services/graph/json.ts';
import { PLACE, stateOf } from '../follow/run-table.ts';

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => undefined });
const KEY = 'AKIAIOSFODNN7EXAMPLE';
const ADA: Identity = {
  id: 'ada',
  tenantId: 'tenant',
  roles: ['user'],
  scopes: new Set(['execute']),
  method: 'api_key',
};

const step: StepState = {
  id: 'step',
  nodeId: 'ask',
  nodeName: 'Ask',
  nodeType: 'human_task',
  status: 'waiting',
  attempt: 1,
  delivery: 0,
  lost: 0,
  readyAt: null,
  assignee: 'ada',
  output: null,
  outcome: null,
  error: null,
  input: { url: `https://x/${KEY}`, headers: { Cookie: 'plain', Accept: 'text/plain' } },
  taken: null,
  completion: null,
  dueAt: 2_000,
  createdAt: 1_000,
  startedAt: 1_500,
  completedAt: null,
};

const run: RunState = {
  ...stateOf('waiting', 4),
  input: { note: KEY },
  variables: { list: [KEY] },
  error: { code: 'x', message: `no ${KEY}`, node: 'ask' },
  steps: new Map([['ask', step]]),
};

const graph = {
  nodes: new Map([
    ['start', {}],
    ['ask', {}],
  ]),
  outcomesOf: () => ['yes', 'no'],
} as unknown as CompiledGraph;

/** An engine whose runner answers with this verdict. */
function bench(verdict: Verdict = 'applied', parts: Partial<EngineParts> = {}) {
  const applied: Command[] = [];
  const isHere = (tenantId: string, id: string, known: string) => tenantId === 'tenant' && id === known;
  const engine = createEngine({
    runner: {
      start: async () => ({ state: run }),
      apply: async ({ tenantId, runId }, command) => {
        applied.push(command);
        return isHere(tenantId, runId, 'run') ? { state: run, verdict } : undefined;
      },
    },
    store: {
      read: async ({ tenantId, runId }) => (isHere(tenantId, runId, 'run') ? run : undefined),
    },
    queries: {
      head: async ({ tenantId, runId }) => (isHere(tenantId, runId, 'run') ? run : undefined),
      begun: async () => new Map(),
      list: async () => ({ runs: [run], total: 1 }),
      step: async ({ stepId }) => (stepId === 'step' ? step : undefined),
      runAndStep: async (tenantId, id) => (isHere(tenantId, id, 'step') ? { runId: 'run', step } : undefined),
      openTasks: async () => [],
      events: async () => ({ events: [], total: 0 }),
      eventsOfStep: async () => [],
      position: async () => undefined,
      startOf: async () => undefined,
    },
    versions: {
      ensure: async () => ({ ...VERSION, graph: { nodes: [], edges: [] }, publishedBy: '', publishedAt: 0 }),
    },
    graphs: { get: async () => graph },
    followers: { settled: async () => undefined, follow: async function* () {} },
    redactor: guard,
    ...parts,
  });
  return { engine, applied };
}

const VERSION = { id: 'version', definitionId: 'definition', version: 1 };
const START = { tenantId: 'tenant', version: VERSION, input: {}, startedBy: 'ada' };
const COMPLETE = { tenantId: 'tenant', stepRunId: 'step', identity: ADA, completion: { outcome: 'maybe' } };

test('nothing that is told of a run holds a credential, wherever it was', async (t) => {
  const { engine } = bench();
  const told = [
    (await engine.start(START)).run,
    await engine.get(PLACE),
    (await engine.list('tenant', { limit: 1, offset: 0 })).runs,
    await engine.cancel({ ...PLACE, by: 'ada' }),
    await engine.step({ ...PLACE, stepRunId: 'step' }),
    await engine.completeTask(COMPLETE),
    await engine.settled({ ...PLACE, timeoutMs: 1, signal: new AbortController().signal }),
  ];
  for (const value of told) {
    const text = JSON.stringify(value);
    t.false(text.includes(KEY), text);
    t.true(text.includes('[REDACTED:aws-access-key-id]'));
  }
  const [shown] = (await engine.get(PLACE)).steps;
  t.deepEqual(shown!.input!.headers, { Cookie: '[REDACTED:header]', Accept: 'text/plain' });
  t.is(shown!.due_at, '1970-01-01T00:00:02.000Z');
});

const REFUSALS: readonly [Verdict, 'cancel' | 'retry' | 'complete', string, RegExp][] = [
  ['already-completed', 'cancel', 'workflow.already-completed', /nothing left to cancel/],
  ['not-paused', 'retry', 'workflow.not-paused', /is waiting/],
  ['task-not-open', 'complete', 'workflow.task-not-open', /"ask" is waiting/],
  ['task-completed-otherwise', 'complete', 'workflow.task-completed', /first completion/],
  ['outcome-not-routable', 'complete', 'outcome_not_routable', /"maybe".*"yes", "no".*Nothing was written/],
  [
    ...(['context-too-large', 'complete', 'workflow.context-too-large'] as const),
    /would have \d+ characters of JSON; 8388608 characters are allowed\. Nothing was written/,
  ],
];

for (const [verdict, what, code, message] of REFUSALS) {
  test(`a ${what} that is refused as ${verdict} is ${code}, and says why`, async (t) => {
    const { engine } = bench(verdict);
    const call = {
      cancel: () => engine.cancel({ ...PLACE, by: 'ada' }),
      retry: () => engine.retry({ ...PLACE, by: 'ada' }),
      complete: () => engine.completeTask(COMPLETE),
    }[what];
    await t.throwsAsync(call(), { code, message });
  });
}

test('what changes nothing is no refusal', async (t) => {
  const { engine } = bench('unchanged');
  t.is((await engine.cancel({ ...PLACE, by: 'ada' })).id, 'run');
  t.is((await engine.completeTask(COMPLETE)).id, 'step');
});

test('who may not complete a task does not reach it', async (t) => {
  const { engine, applied } = bench();
  const bob = { ...ADA, id: 'bob' };
  await t.throwsAsync(engine.completeTask({ ...COMPLETE, identity: bob }), { code: 'workflow.not-assigned' });
  t.deepEqual(applied, []);
});

test('a completion is handed on as it was sent, with the one who sent it', async (t) => {
  const { engine, applied } = bench();
  await engine.completeTask({ ...COMPLETE, completion: { output: {} } });
  await engine.completeTask({ tenantId: 'tenant', stepRunId: 'step', completion: {} });
  t.deepEqual(applied, [
    { type: 'task_completed', stepId: 'step', attempt: 1, by: 'ada', payload: { output: {} } },
    { type: 'task_completed', stepId: 'step', attempt: 1, by: 'system', payload: {} },
  ]);
});

test('what is not there, or belongs to another tenant, is not found', async (t) => {
  const { engine } = bench();
  const signal = new AbortController().signal;
  const notFound = { code: 'workflow.run-not-found' };
  for (const place of [
    { tenantId: 'tenant', runId: 'other' },
    { tenantId: 'other', runId: 'run' },
  ]) {
    await t.throwsAsync(engine.get(place), notFound);
    await t.throwsAsync(engine.cancel({ ...place, by: 'ada' }), notFound);
    await t.throwsAsync(engine.retry({ ...place, by: 'ada' }), notFound);
    await t.throwsAsync(engine.events({ ...place, limit: 1 }), notFound);
    await t.throwsAsync(engine.settled({ ...place, timeoutMs: 1, signal }), notFound);
  }
  await t.throwsAsync(engine.step({ ...PLACE, stepRunId: 'other' }), { code: 'workflow.step-not-found' });
  const task = { code: 'workflow.task-not-found' };
  await t.throwsAsync(engine.completeTask({ ...COMPLETE, stepRunId: 'other' }), task);
  await t.throwsAsync(engine.completeTask({ ...COMPLETE, tenantId: 'other' }), task);
});

test('a key that is known gives its run when the bodies are the same', async (t) => {
  const { engine } = bench('applied', {
    runner: {
      apply: async () => undefined,
      start: async () => ({ existing: { runId: 'run', fingerprint: 'same' } }),
    },
  });
  const start = (fingerprint: string) => engine.start({ ...START, idempotency: { key: 'k', fingerprint } });
  t.like(await start('same'), { isNew: false, run: { id: 'run' } });
  await t.throwsAsync(start('other'), { code: 'workflow.idempotency-mismatch' });
});

test('input is measured in bytes of JSON', async (t) => {
  const { engine } = bench();
  await t.notThrowsAsync(engine.start({ ...START, input: { x: 'é'.repeat(256 * 1024 - 4) } }));
  const large = engine.start({ ...START, input: { x: 'é'.repeat(256 * 1024 - 3) } });
  await t.throwsAsync(large, { code: 'workflow.context-too-large', message: /524290 bytes of JSON, 524288/ });
});

test('tasks are asked for by what the identity answers to', async (t) => {
  const asked: unknown[] = [];
  const { engine } = bench('applied', {
    queries: {
      openTasks: async (_tenant: string, query: object) => {
        asked.push(query);
        return [{ runId: 'run', definitionId: 'definition', versionId: 'version', step }];
      },
    } as unknown as EngineParts['queries'],
  });
  const page = { limit: 10, offset: 0 };
  const [task] = await engine.tasks({ tenantId: 'tenant', identity: ADA, ...page });
  await engine.tasks({ tenantId: 'tenant', ...page });
  t.like(task, { step_run_id: 'step', assignee: 'ada', instructions: null });
  t.deepEqual(asked, [
    { ...page, assignees: ['ada', 'role:user'] },
    { ...page, assignees: undefined },
  ]);
});

test('a list of tasks with as many graphs reads a few of them at one time', async (t) => {
  let reading = 0;
  let most = 0;
  const tasks = Array.from({ length: 500 }, (_, index) => ({
    runId: 'run',
    definitionId: 'definition',
    versionId: `version-${index}`,
    step,
  }));
  const { engine } = bench('applied', {
    queries: { openTasks: async () => tasks } as unknown as EngineParts['queries'],
    graphs: {
      async get() {
        reading += 1;
        most = Math.max(most, reading);
        await setImmediate();
        reading -= 1;
        return graph;
      },
    },
  });
  t.is((await engine.tasks({ tenantId: 'tenant', limit: 500, offset: 0 })).length, 500);
  t.true(most <= 16, `${most} graphs were read at one time`);
});

test('the order of members does not count, that of items does', (t) => {
  t.is(fingerprintOf({ a: 1, b: { c: 2, d: 3 } }), fingerprintOf({ b: { d: 3, c: 2 }, a: 1 }));
  t.not(fingerprintOf({ a: [1, 2] }), fingerprintOf({ a: [2, 1] }));
});

test('an object is no list of its members', (t) => {
  t.not(fingerprintOf({ a: 1 }), fingerprintOf([['a', 1]]));
  t.not(fingerprintOf({ members: [['a', 1]] }), fingerprintOf({ a: 1 }));
});

test('two values have the same fingerprint exactly when they are equal', (t) => {
  const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(json, json, (a, b) => {
      t.is(fingerprintOf(a) === fingerprintOf(b), jsonEqual(a, b));
      t.is(fingerprintOf(a), fingerprintOf(JSON.parse(JSON.stringify(a))));
    }),
  );
});
