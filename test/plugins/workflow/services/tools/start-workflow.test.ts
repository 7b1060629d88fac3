import test from 'ava';
import type { Tool, ToolContext } from '../../../../../plugins/agent-engine/contract.ts';
import { createArgumentCheck } from '../../../../../plugins/agent-engine/services/tools/argument-check.ts';
import { createToolCatalog } from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';
import {
  type StartRequest,
  type WorkflowEngine,
  WorkflowErrors,
} from '../../../../../plugins/workflow/contract/engine.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { RunRecord, RunStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import {
  type NestedPrincipals,
  startWorkflowSource,
} from '../../../../../plugins/workflow/services/tools/start-workflow.ts';
import { manualClock } from '../../../../../testing/manual-clock.ts';
import { toolContext } from '../../../agent-engine/services/tool-context.ts';
import { heardLog } from '../nodes/kit.ts';

const run = (id: string, status: RunStatus, error: RunRecord['error'] = null) =>
  ({ id, status, error }) as RunRecord;

const versionOf = (workflow: string) => ({ id: 'version-1', definitionId: workflow, version: 1 });

/** The tool over workflows that begin as `running` and end as they are told. */
async function fixture(settled = run('run-1', 'completed'), output: JsonObject | null = { sum: 3 }) {
  const started: StartRequest[] = [];
  const waits: number[] = [];
  const archived = new Set(['unknown']);
  const engine: Pick<WorkflowEngine, 'start' | 'startedWith' | 'settled' | 'result'> = {
    async startedWith({ idempotency }) {
      const earlier = started.findIndex((request) => request.idempotency?.key === idempotency.key);
      return earlier < 0 ? undefined : run(`run-${earlier + 1}`, 'running');
    },
    async start(request) {
      started.push(request);
      return { run: run(`run-${started.length}`, 'running'), isNew: true };
    },
    async settled({ timeoutMs }) {
      waits.push(timeoutMs);
      return settled;
    },
    result: async () => output,
  };
  const definitions = {
    async resolve(_tenantId: string, workflow: string) {
      if (archived.has(workflow)) throw WorkflowErrors.definitionNotFound();
      return versionOf(workflow);
    },
  };
  const nested: NestedPrincipals = new WeakSet();
  const source = startWorkflowSource({ engine, definitions, nested });
  const [tool] = await source.list('tenant', new AbortController().signal);
  return { source, started, archived, waits, nested, tool: tool as Tool };
}

async function told(tool: Tool, input: object, context: Partial<ToolContext> = {}) {
  const result = await tool.invoke(input as Record<string, unknown>, toolContext(context));
  if ('question' in result) throw new Error('a question');
  return result.isError === true ? result.content : JSON.parse(result.content);
}

test('a run is started for the tenant and in the name of the turn, and goes on by itself', async (t) => {
  const { tool, started, waits } = await fixture();
  t.deepEqual(await told(tool, { workflow: 'add', input: { a: 1 } }), { run_id: 'run-1', status: 'running' });
  t.deepEqual(started, [
    {
      tenantId: 'tenant',
      version: versionOf('add'),
      input: { a: 1 },
      startedBy: 'identity',
      userId: 'user',
      idempotency: undefined,
    },
  ]);
  t.deepEqual(waits, []);
});

test('a call that waits is told the output', async (t) => {
  const { tool, waits } = await fixture();
  t.deepEqual(await told(tool, { workflow: 'add', wait_seconds: 60 }), {
    run_id: 'run-1',
    status: 'completed',
    output: { sum: 3 },
  });
  t.deepEqual(waits, [60_000]);
  t.true(tool.timeoutMs! > 60_000);
});

test('a run that is paused is told with its error', async (t) => {
  const error = { code: 'service_status', message: 'answered 500', node: 'call' };
  const { tool } = await fixture(run('run-1', 'paused', error), null);
  t.deepEqual(await told(tool, { workflow: 'add', wait_seconds: 1 }), {
    run_id: 'run-1',
    status: 'paused',
    error,
  });
});

test('a workflow that is not there is the words of its error', async (t) => {
  const { tool } = await fixture();
  await t.throwsAsync(told(tool, { workflow: 'unknown' }), { code: 'workflow.definition-not-found' });
});

test('a turn that is done again starts the same workflow with the same input once, whatever the provider calls the call', async (t) => {
  const { tool, started, archived } = await fixture();
  const again = { idempotencyId: 'checkpoint-1' };
  const first = await told(tool, { workflow: 'add', input: { a: 1 } }, { ...again, callId: 'call_1' });
  // Whatever became of the workflow since.
  archived.add('add');
  t.deepEqual(await told(tool, { workflow: 'add', input: { a: 1 } }, { ...again, callId: 'call_2' }), first);
  archived.clear();
  await told(tool, { workflow: 'add', input: { a: 2 } }, again);
  await told(tool, { workflow: 'add', input: { a: 1 } }, { idempotencyId: 'checkpoint-2' });
  const keys = started.map(({ idempotency }) => idempotency?.key);
  t.is(new Set(keys).size, 3);
  t.is(keys.length, 3);
  t.true(keys.every((key) => key !== undefined && /^tool-[0-9a-f]{64}$/.test(key)));
});

test('a turn that is done once starts a run at each call', async (t) => {
  const { tool, started } = await fixture();
  await told(tool, { workflow: 'add' });
  await told(tool, { workflow: 'add' });
  t.deepEqual(
    started.map(({ idempotency }) => idempotency),
    [undefined, undefined],
  );
});

test('inside an agent task no workflow is started', async (t) => {
  const { tool, started, nested } = await fixture();
  const principal = { tenantId: 'tenant', identityId: 'identity', userId: 'user' };
  nested.add(principal);
  t.regex(await told(tool, { workflow: 'add' }, { principal }), /^Error: .*cannot start workflows/);
  t.is(started.length, 0);
  // Somebody else of the same name is somebody else.
  t.is((await told(tool, { workflow: 'add' }, { principal: { ...principal } })).run_id, 'run-1');
});

for (const [given, isGood] of [
  [{ workflow: 'a' }, true],
  [{ workflow: 'a', input: {}, wait_seconds: 60 }, true],
  [{}, false],
  [{ workflow: '' }, false],
  [{ workflow: 'a', input: 'text' }, false],
  [{ workflow: 'a', wait_seconds: 61 }, false],
  [{ workflow: 'a', wait_seconds: -1 }, false],
  [{ workflow: 'a', more: 1 }, false],
] as const) {
  test(`arguments ${JSON.stringify(given)} are ${isGood ? 'taken' : 'refused'}`, async (t) => {
    const { tool } = await fixture();
    t.is('input' in createArgumentCheck()(tool, JSON.stringify(given)), isGood);
  });
}

test('the catalog offers it as builtin/start_workflow, beside the tools of the agent engine', async (t) => {
  const { source } = await fixture();
  const own = { prefix: 'builtin/', list: () => [] };
  const catalog = createToolCatalog({
    sources: () => [own, source],
    policies: { of: () => ({ allowedTools: null }) as never },
    log: heardLog().log,
    clock: manualClock(),
  });
  const wishes = [{ ref: 'builtin/start_workflow', requiresApproval: true }];
  const { tools, missing } = await catalog.offer({
    tenantId: 'tenant',
    wishes,
    signal: new AbortController().signal,
  });
  t.deepEqual(missing, []);
  t.like(tools[0], { name: 'start_workflow', requiresApproval: true });
});
