import type { Database, DurableEvents, TenantEntityManager } from 'agent-gateway';
import type { AgentResult, Agents, Principal } from '../../../agent-engine/contract.ts';
import {
  type Metering,
  type Preambles,
  type PricedUse,
  summedUse,
  turnFinishedWrites,
} from '../../../records/contract.ts';
import type { Json, JsonObject } from '../../contract/graph.ts';
import { type NodeType, StepFailure, type StepTask } from '../../contract/node-types.ts';
import { AgentTaskConfig, agentTaskTemplates, checkAgentTask } from '../graph/builtin-config.ts';
import type { NestedPrincipals } from '../tools/start-workflow.ts';
import { agentFailure, finishFailure } from './agent-failure.ts';

/** What agent tasks are carried out with. */
interface AgentTaskParts {
  readonly agents: Pick<Agents, 'run'>;
  readonly preambles: Pick<Preambles, 'of'>;
  readonly metering: Pick<Metering, 'price' | 'record'>;
  readonly durableEvents: Pick<DurableEvents, 'hasSubscribers' | 'writes'>;
  /** The gateway's database, where usage is kept. */
  readonly database: Pick<Database, 'forTenant'>;
  /**
   * True where the engine's runs are in that database too: the usage of a step that succeeds then commits together with
   * it.
   */
  readonly commitsWithStep: boolean;
  /** Tokens, estimated, of personality, profile, memories and skills in the system prompt; 0 leaves them out. */
  readonly preambleTokens: number;
  /** Collects the principals that agent tasks work for, so that these start no workflows. */
  readonly nested: NestedPrincipals;
}

/**
 * The node `agent_task` (specification 2, Node and Agent safety pipeline): a whole turn of an agent with its tools. The
 * prompt is treated like a user's message in a chat: input check, personality, memories and skills of the user who
 * started the run, output check, redaction. No user can be asked: tools that need an approval are refused. A delivery
 * that repeats an attempt does not repeat its tools.
 */
export function agentTask(parts: AgentTaskParts): NodeType {
  const { agents, preambles, metering, durableEvents, database, commitsWithStep, preambleTokens, nested } =
    parts;

  /** A turn that came to its end. Records have the tenant and the identity of the principal, and no session. */
  async function finished(task: StepTask, principal: Principal, { model, uses }: AgentResult) {
    const prices = await metering.price(uses);
    const agent = textOf(task.input.agent);
    const turn = { agent, model, source: 'workflow', runId: task.runId, uses: prices };
    const record = (entities: TenantEntityManager) =>
      metering.record(
        entities,
        { principal, source: turn.source },
        prices,
        turnFinishedWrites(durableEvents, turn),
      );
    return { prices, record };
  }

  async function run(task: StepTask, principal: Principal) {
    const { prompt, agent, model, maxIterations } = readInput(task.input);
    const { text: preamble, secret } = await preambles.of(principal, preambleTokens, [prompt]);
    let toolCalls = 0;
    const events = agents.run({
      agent,
      model,
      maxIterations,
      preamble,
      secretPreamble: secret,
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
        if (event.type === 'tool_call') toolCalls += 1;
        if (event.type === 'end') return { toolCalls, result: event.result };
      }
    } catch (error) {
      task.signal.throwIfAborted();
      throw agentFailure(error, { tool_calls: toolCalls });
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
      const principal = { tenantId: task.tenantId, identityId: task.startedBy, userId: task.userId };
      nested.add(principal);
      const { result, toolCalls } = await run(task, principal);
      const { finish, text, uses } = result;
      const record = { model: result.model, model_calls: uses.length, tool_calls: toolCalls, finish };
      const failure = finishFailure(finish, record);
      if (failure !== undefined) {
        await recordFailure(task, principal, result);
        throw failure;
      }
      const turn = await finished(task, principal, result);
      const succeeded = { output: { text, usage: usageOf(turn.prices) }, record };
      if (commitsWithStep) return { ...succeeded, also: turn.record };
      await turn.record(database.forTenant(principal.tenantId));
      return succeeded;
    },
  };

  /** As chats do: a turn that came to any end is metered. */
  async function recordFailure(task: StepTask, principal: Principal, result: AgentResult) {
    if (result.uses.length === 0) return;
    try {
      const { record } = await finished(task, principal, result);
      await record(database.forTenant(principal.tenantId));
    } catch (err) {
      task.log.error(
        { err, model_calls: result.uses.length },
        'the usage of a failed agent task is not recorded',
      );
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
    'The prompt is empty after its templates were filled in. See the warnings for references that led nowhere.',
    { isRetryable: false },
  );
}

/** Absent, and empty since a reference led nowhere, both mean the default. */
function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Uses added up, under the names of the usage routes (decisions 1.8). `cost_usd` is 0 where no price is set. Pure. */
function usageOf(uses: readonly PricedUse[]): JsonObject {
  const { cost_usd, model_calls, estimated: _, ...tokens } = summedUse(uses);
  return {
    ...tokens,
    total_tokens: tokens.input_tokens + tokens.output_tokens,
    // The number that is nearest to the exact sum: it prints as the same decimal, up to 15 digits.
    cost_usd: Number(cost_usd),
    requests: model_calls,
  };
}
