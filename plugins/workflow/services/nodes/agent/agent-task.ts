import type { Agents, ModelUse, Preambles, Principal } from '../../../../agent-engine/contract.ts';
import type { Json, JsonObject } from '../../../contract/graph.ts';
import { type NodeType, StepFailure, type StepTask } from '../../../contract/node-types.ts';
import { AgentTaskConfig, agentTaskTemplates, checkAgentTask } from '../../graph/builtin-config.ts';
import type { Nesting } from '../../tools/start-workflow.ts';
import { agentFailure, finishFailure } from './agent-failure.ts';
import type { AgentUsage } from './agent-usage.ts';

/** What agent tasks are carried out with. */
export interface AgentTaskParts {
  readonly agents: Pick<Agents, 'run'>;
  readonly preambles: Pick<Preambles, 'of'>;
  readonly usage: AgentUsage;
  /** Tokens, estimated, of personality, profile, memories and skills in the system prompt; 0 leaves them out. */
  readonly preambleTokens: number;
  /** Learns for whom agent tasks work, so that they start no workflows. */
  readonly nesting: Pick<Nesting, 'enter'>;
}

/**
 * The node `agent_task` (specification 2, Node and Agent safety pipeline): a whole turn of an agent with its tools. The prompt is what a user says
 * in a chat, and is treated like it: input check, personality, memories and skills of whoever started the run, output check, redaction. Nobody can
 * be asked: tools that need an approval are refused. A delivery that repeats an attempt does not repeat its tools.
 */
export function agentTask(parts: AgentTaskParts): NodeType {
  const { agents, preambles, usage, preambleTokens, nesting } = parts;

  async function run(task: StepTask, principal: Principal) {
    const { prompt, agent, model, maxIterations } = readInput(task.input);
    const { text: preamble, secret } = await preambles.of(principal, preambleTokens);
    const told = { toolCalls: 0 };
    const events = agents.run({
      ...{ agent, model, maxIterations, preamble, secretPreamble: secret },
      messages: [{ role: 'user', content: prompt }],
      pauses: 'refuse',
      context: {
        principal,
        requestId: task.idempotencyKey,
        idempotencyId: task.idempotencyKey,
        signal: task.signal,
        log: task.log,
      },
    });
    try {
      for await (const event of events) {
        if (event.type === 'tool_call') told.toolCalls += 1;
        if (event.type === 'end') return { ...told, result: event.result };
      }
    } catch (error) {
      task.signal.throwIfAborted();
      throw agentFailure(error, { tool_calls: told.toolCalls });
    }
    throw new Error('an agent ended without a result');
  }

  return {
    type: 'agent_task',
    summary: 'Runs an agent with its tools; its answer is the output.',
    config: AgentTaskConfig,
    templates: agentTaskTemplates,
    check: checkAgentTask,
    async execute(task) {
      const principal = { tenantId: task.tenantId, identityId: task.startedBy, userId: task.startedBy };
      nesting.enter(principal);
      const { result, toolCalls } = await run(task, principal);
      const { finish, text, uses } = result;
      const record = { model: result.model, model_calls: uses.length, tool_calls: toolCalls, finish };
      const failure = finishFailure(finish, record);
      if (failure !== undefined) {
        await recordUsage(task, principal, uses);
        throw failure;
      }
      const { usage: summed, also } = await usage.ofSuccess(principal, uses);
      return { output: { text, usage: summed }, record, ...(also !== undefined && { also }) };
    },
  };

  /** As chats do: a turn that came to an end is metered, whatever the end. */
  async function recordUsage(task: StepTask, principal: Principal, uses: readonly ModelUse[]) {
    try {
      await usage.ofFailure(principal, uses);
    } catch (err) {
      task.log.error({ err, model_calls: uses.length }, 'the usage of a failed agent task is not recorded');
    }
  }
}

/** The configuration after its templates were filled in: a template alone keeps the type of what it stands for. */
function readInput(input: JsonObject) {
  const { prompt, agent, model, max_iterations: most } = input;
  return {
    prompt: promptOf(prompt),
    agent: textOf(agent),
    model: textOf(model),
    maxIterations: typeof most === 'number' ? most : undefined,
  };
}

function promptOf(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  if (text.trim() !== '' && value !== undefined && value !== null) return text;
  throw new StepFailure(
    'empty_prompt',
    'The prompt is empty after its templates were filled in. See the warnings of the run for references that led nowhere.',
    { isRetryable: false },
  );
}

/** Absent, and empty since a reference led nowhere, both mean the default. */
function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
