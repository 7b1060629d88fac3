import { createHash } from 'node:crypto';
import type { Principal, Tool, ToolContext, ToolSource } from '../../../agent-engine/contract.ts';
import type { WorkflowDefinitions, WorkflowEngine } from '../../contract/engine.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { RunRecord } from '../../contract/runs.ts';

/** Seconds that a call may wait for its run. */
const MAX_WAIT_S = 60;
/** Later than the longest wait, whose message is better. */
const TIMEOUT_MS = (MAX_WAIT_S + 15) * 1_000;

const PARAMETERS = {
  type: 'object',
  properties: {
    workflow: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'Name of a workflow of the deployment, or the id of a published definition',
    },
    input: { type: 'object', description: 'What the workflow works on; default nothing' },
    wait_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_S,
      description: 'Seconds to wait for the end of the run; default 0: it goes on by itself',
    },
  },
  required: ['workflow'],
  additionalProperties: false,
} as const;

interface Arguments {
  readonly workflow: string;
  readonly input?: JsonObject;
  readonly wait_seconds?: number;
}

/** What the tool works with. */
interface StartWorkflowParts {
  readonly engine: Pick<WorkflowEngine, 'start' | 'startedWith' | 'settled' | 'result'>;
  readonly definitions: Pick<WorkflowDefinitions, 'resolve'>;
  /** Those for whom agent tasks work. */
  readonly nested: NestedPrincipals;
}

/**
 * The principals that agent tasks work for, each this very object and no other with the same members: the agent engine
 * hands the principal of a turn to its tools as it is, sub-agents included. This distinguishes the work of agent tasks
 * from that of chats and runtime agents, so that a workflow whose agent starts workflows cannot recurse without end.
 */
export type NestedPrincipals = WeakSet<Principal>;

/** The source of the built-in tool `start_workflow` (decisions 3.2). It is there for every tenant. */
export function startWorkflowSource(parts: StartWorkflowParts): ToolSource {
  const tools = [startWorkflow(parts)];
  return { prefix: 'builtin/', list: () => tools };
}

/**
 * The tool `start_workflow`: starts a run for the tenant and in the name of the identity of the turn, and waits for it
 * if asked to. In a turn that may be repeated, the same workflow is started with the same input only once. Inside an
 * agent task it refuses: a workflow whose agent starts workflows would have no bound.
 */
function startWorkflow({ engine, definitions, nested }: StartWorkflowParts): Tool {
  return {
    ref: 'builtin/start_workflow',
    name: 'start_workflow',
    description:
      'Starts a workflow, a fixed procedure of several steps, and returns JSON with run_id and status. With wait_seconds it waits for the end and adds ' +
      'the output. The status is running, waiting (for a person), paused (a step failed, see error), completed or cancelled.',
    parameters: PARAMETERS,
    timeoutMs: TIMEOUT_MS,
    async invoke(given, context) {
      if (nested.has(context.principal)) {
        const content =
          'Error: An agent that works for a workflow cannot start workflows. Put the steps into the graph of this one.';
        return { content, isError: true };
      }
      const { workflow, input = {}, wait_seconds: wait = 0 } = given as unknown as Arguments;
      const { tenantId, identityId, userId } = context.principal;
      const idempotency = idempotencyOf(context, workflow, input);
      // Before the workflow is looked up, since it may have been archived after the first start.
      const before = idempotency && (await engine.startedWith({ tenantId, idempotency }));
      const run =
        before ??
        (
          await engine.start({
            tenantId,
            version: await definitions.resolve(tenantId, workflow),
            input,
            startedBy: identityId,
            userId,
            idempotency,
          })
        ).run;
      const { id, definition_id, version } = run;
      // A turn may start several.
      context.audit?.({ [`workflow_run ${id}`]: `${definition_id} version ${version}` });
      if (wait === 0 || run.status !== 'running') return { content: contentOf(run, null) };
      const place = { tenantId, runId: id };
      const { signal } = context;
      const settled = await engine.settled({ ...place, timeoutMs: wait * 1_000, signal });
      signal.throwIfAborted();
      return { content: contentOf(settled, await engine.result(place)) };
    },
  };
}

/**
 * The provider chooses the id of a call, and another one when the turn is repeated, so workflow and input identify the
 * call. Work that is not repeated has no id, and each of its calls starts a run.
 */
function idempotencyOf({ idempotencyId }: ToolContext, workflow: string, input: JsonObject) {
  if (idempotencyId === undefined) return undefined;
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const fingerprint = hash(JSON.stringify([workflow, input]));
  return { key: `tool-${hash(`${idempotencyId} ${fingerprint}`)}`, fingerprint };
}

function contentOf({ id, status, error }: RunRecord, output: JsonObject | null): string {
  return JSON.stringify({
    run_id: id,
    status,
    ...(output !== null && { output }),
    ...(error !== null && { error }),
  });
}
