import { createHash } from 'node:crypto';
import type { Principal, Tool, ToolContext, ToolSource } from '../../../agent-engine/contract.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { RunRecord } from '../../contract/runs.ts';
import type { Settled, StartByName } from './start-by-name.ts';

/** Seconds that a call may wait for its run. */
const MAX_WAIT_S = 60;
/** Later than the longest wait, whose words are better. */
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
  readonly workflows: StartByName;
  readonly nesting: Pick<Nesting, 'isInside'>;
}

/** The source of the built-in tool `start_workflow` (decisions 3.2). It is there for every tenant. */
export function startWorkflowSource(parts: StartWorkflowParts): ToolSource {
  const tools = [startWorkflow(parts)];
  return { prefix: 'builtin/', list: () => tools };
}

/**
 * The tool `start_workflow`: starts a run for the tenant and in the name of the identity of the turn, and waits for it where that is asked. In a turn
 * that may be done again the same workflow is started with the same input once. Inside an agent task it refuses: a workflow whose agent starts
 * workflows would have no bound.
 */
function startWorkflow({ workflows, nesting }: StartWorkflowParts): Tool {
  return {
    ref: 'builtin/start_workflow',
    name: 'start_workflow',
    description:
      'Starts a workflow, a fixed procedure of several steps, and returns JSON with run_id and status. With wait_seconds it waits for the end and adds ' +
      'the output. The status is running, waiting (for a person), paused (a step failed, see error), completed or cancelled.',
    parameters: PARAMETERS,
    timeoutMs: TIMEOUT_MS,
    async invoke(given, context) {
      if (nesting.isInside(context.principal)) {
        const content =
          'Error: An agent that works for a workflow cannot start workflows. Put the steps into the graph of this one.';
        return { content, isError: true };
      }
      const { workflow, input = {}, wait_seconds: wait = 0 } = given as unknown as Arguments;
      const { tenantId, identityId } = context.principal;
      const { run } = await workflows.start({
        tenantId,
        workflow,
        input,
        startedBy: identityId,
        idempotency: idempotencyOf(context, workflow, input),
      });
      const { id, definition_id, version } = run;
      // A turn may start several.
      context.audit?.({ [`workflow_run ${id}`]: `${definition_id} version ${version}` });
      if (wait === 0 || run.status !== 'running') return { content: contentOf({ run, output: null }) };
      const place = { tenantId, runId: run.id };
      const settled = await workflows.settled({
        ...place,
        timeoutMs: wait * 1_000,
        signal: context.signal,
      });
      return { content: contentOf(settled) };
    },
  };
}

/**
 * The id of a call is the provider's, and another one when the turn is done again: what is asked for names the call. Work that is done once has no
 * id, and every call of it starts a run.
 */
function idempotencyOf({ idempotencyId }: ToolContext, workflow: string, input: JsonObject) {
  if (idempotencyId === undefined) return undefined;
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const fingerprint = hash(JSON.stringify([workflow, input]));
  return { key: `tool-${hash(`${idempotencyId} ${fingerprint}`)}`, fingerprint };
}

function contentOf({ run, output }: { readonly run: RunRecord; readonly output: Settled['output'] }): string {
  const { id, status, error } = run;
  return JSON.stringify({
    run_id: id,
    status,
    ...(output !== null && { output }),
    ...(error !== null && { error }),
  });
}

/**
 * Tells the work of agent tasks from the work of chats and runtime agents, so that a workflow whose agent starts workflows whose agents start
 * workflows does not go on for ever.
 */
export interface Nesting {
  /** Marks a principal as one that an agent task works for: this very object, and no other with the same members. */
  enter(principal: Principal): void;
  /** True inside of an agent task. The agent engine hands the principal of a turn to its tools as it is, sub-agents included. */
  isInside(principal: Principal): boolean;
}

/** Makes it. It keeps nothing of work that is over, and knows of this process alone: a turn never leaves its process. */
export function createNesting(): Nesting {
  const inside = new WeakSet<Principal>();
  return { enter: (principal) => void inside.add(principal), isInside: (principal) => inside.has(principal) };
}
