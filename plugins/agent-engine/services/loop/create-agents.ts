import { GatewayError, isJsonObject, linkSignals, redactJsonTextWith } from 'agent-gateway';
import {
  type AgentEvent,
  type AgentResult,
  type AgentResumeRequest,
  type AgentRunRequest,
  type Agents,
  type ChatGuarding,
  type ChatMessage,
  MAX_ITERATIONS,
  ModelErrors,
  type RunContext,
} from '../../contract.ts';
import type { AgentCatalog } from './agent-catalog.ts';
import { type AgentDefinition, DEFAULT_MODEL } from './agent-resource.ts';
import { checkDecisions, decide } from './decisions.ts';
import { eventsOf } from './events.ts';
import { asState, type CheckpointState, type Frame, interruptsOf, joinTexts, type Turn } from './frame.ts';
import type { LoopParts } from './loop-parts.ts';
import { runFrame } from './run-frame.ts';

/** What the agents are made of. */
export interface AgentsParts extends LoopParts {
  readonly agents: AgentCatalog;
}

/** Everything about a turn but its frame. */
type TurnStart = Pick<Turn, 'pauses' | 'guards' | 'modelCalls' | 'maxModelCalls'>;

/** Makes the agents of the deployment. Nothing is kept between turns. */
export function createAgents(parts: AgentsParts): Agents {
  const { agents, guard, openGuards } = parts;

  const openFor = (
    { principal, sessionId, requestId }: RunContext,
    signal: AbortSignal,
    agent: string,
    model: string,
  ): ChatGuarding | Promise<ChatGuarding> => {
    return openGuards({ ...principal, agent: agent || undefined, model, sessionId, requestId, signal });
  };

  function events(given: RunContext, start: TurnStart, frame: Frame): AsyncGenerator<AgentEvent, void> {
    return eventsOf<AgentEvent>(given.signal, async (emit, signal, stop) => {
      const context = { ...given, signal };
      const turn: Turn = { ...start, context, emit, stop, uses: [], characters: 0 };
      try {
        const { finish, toolCalls } = await runFrame(parts, turn, frame);
        const result: AgentResult = {
          finish,
          text: guard.redact(frame.text),
          messages: frame.messages.slice(frame.known).map((message) => redactMessage(message, guard.redact)),
          ...(toolCalls === undefined ? {} : { toolCalls: redactCalls(toolCalls, guard.redact) }),
          uses: turn.uses,
          ...(finish === 'interrupted' ? { checkpoint: checkpointOf(parts, turn, frame) } : {}),
          model: frame.model,
        };
        await emit({ type: 'end', result });
      } catch (error) {
        start.guards.endEarly(error);
        const { aborted, reason } = given.signal;
        if (!aborted) throw error;
        throw reason instanceof GatewayError ? reason : ModelErrors.aborted(undefined, { cause: error });
      }
    });
  }

  return {
    list: agents.list,
    find: agents.find,
    check: agents.check,
    async *run(request) {
      using lease = await agents.acquire(request.context.principal.tenantId, request.agent);
      const { context, pauses } = request;
      const frame = outermostFrame(lease.value, request);
      // The guards of a conversation have looked at its messages, and end with it.
      const isAlone = request.guards === undefined;
      if (isAlone) await guard.inspect(request.messages, context);
      using alive = linkSignals(isAlone ? context.signal : undefined);
      const guards = request.guards ?? (await openFor(context, alive.signal, frame.agent.name, frame.model));
      if (isAlone) frame.messages.splice(0, frame.known, ...(await guards.input(request.messages)));
      const maxModelCalls = frame.maxModelCalls;
      yield* events(context, { pauses, guards, modelCalls: 0, maxModelCalls }, frame);
    },
    checkDecisions(checkpoint, decisions) {
      checkDecisions(asState(checkpoint).frame, decisions, parts.checkArguments);
    },
    async *resume({ checkpoint, decisions, context, guards: opened }: AgentResumeRequest) {
      // A copy: a resume that fails leaves the checkpoint as it was.
      const { frame, modelCalls, maxModelCalls } = structuredClone(asState(checkpoint));
      checkDecisions(frame, decisions, parts.checkArguments);
      const words = wordsOf(decisions);
      await guard.inspect(words, context);
      using alive = linkSignals(opened === undefined ? context.signal : undefined);
      const guards = opened ?? (await openFor(context, alive.signal, frame.agent.name, frame.model));
      decide(frame, withWords(decisions, await guards.input(words)));
      const again = { ...context, idempotencyId: context.idempotencyId ?? checkpoint.id };
      yield* events(again, { pauses: 'allow', guards, modelCalls, maxModelCalls }, frame);
    },
  };
}

function outermostFrame(agent: AgentDefinition, request: AgentRunRequest): Frame {
  const { messages, preamble, secretPreamble, parameters, clientTools, toolChoice, model, maxIterations } =
    request;
  const most = maxIterations ?? agent.maxIterations ?? MAX_ITERATIONS;
  return {
    agent,
    path: agent.name === '' ? [] : [agent.name],
    prefix: '',
    model: model ?? agent.model ?? DEFAULT_MODEL,
    system: joinTexts(preamble, agent.systemPrompt),
    secret: joinTexts(secretPreamble, agent.systemPrompt),
    messages: [...messages],
    known: messages.length,
    calls: 0,
    modelCalls: 0,
    text: '',
    maxModelCalls: Math.min(MAX_ITERATIONS, Math.max(1, Math.trunc(most) || 1)),
    request: { parameters, clientTools, toolChoice },
  };
}

function checkpointOf({ ids, guard }: LoopParts, turn: Turn, frame: Frame) {
  frame.known = frame.messages.length;
  const { modelCalls, maxModelCalls } = turn;
  const state: CheckpointState = { version: 1, frame, modelCalls, maxModelCalls };
  // Through JSON, so that the state in memory cannot differ from the stored one.
  const plain: unknown = JSON.parse(JSON.stringify(state));
  return {
    id: ids.uuid(),
    agent: frame.agent.name,
    interrupts: interruptsOf(frame, guard.redact),
    state: plain,
  };
}

/** The texts of people in a decision, which may have members of any type that the interrupt has no use for. */
function textsIn(decision: object) {
  const { answers, message } = decision as Readonly<Record<'answers' | 'message', unknown>>;
  return { answers: isJsonObject(answers) ? answers : {}, message };
}

/** What people wrote in their decisions, as messages: it reaches the model like the messages of a chat. */
function wordsOf(decisions: AgentResumeRequest['decisions']): readonly ChatMessage[] {
  const texts = Object.values(decisions).flatMap((decision) => {
    const { answers, message } = textsIn(decision);
    return [...Object.values(answers), message];
  });
  return texts.flatMap((content) => (typeof content === 'string' ? [{ role: 'user', content }] : []));
}

/** The decisions with other words, in the order of `wordsOf`. */
function withWords(
  decisions: AgentResumeRequest['decisions'],
  words: readonly ChatMessage[],
): AgentResumeRequest['decisions'] {
  const rest = words.values();
  const word = (given: unknown) => (typeof given === 'string' ? rest.next().value?.content : given);
  const entries = Object.entries(decisions).map(([id, decision]) => {
    const { answers, message } = textsIn(decision);
    const answered = Object.entries(answers).map(([name, given]) => [name, word(given)]);
    return [id, { ...decision, answers: Object.fromEntries(answered), message: word(message) }];
  });
  return Object.fromEntries(entries);
}

/**
 * An answer as it may be shown and kept; results of tools were redacted before the model saw them. Signed thoughts are
 * the provider's alone.
 */
function redactMessage(message: ChatMessage, redact: (text: string) => string): ChatMessage {
  if (message.role !== 'assistant') return message;
  const { reasoning_details: _, ...shown } = message;
  const { content, tool_calls } = shown;
  return {
    ...shown,
    ...(typeof content === 'string' ? { content: redact(content) } : {}),
    ...(tool_calls === undefined ? {} : { tool_calls: redactCalls(tool_calls, redact) }),
  };
}

function redactCalls(calls: NonNullable<AgentResult['toolCalls']>, redact: (text: string) => string) {
  return calls.map((call) => ({
    ...call,
    function: { ...call.function, arguments: redactJsonTextWith(redact, call.function.arguments) },
  }));
}
