import { type Database, linkSignals, type RowWrite, withFirst } from 'agent-gateway';
import type { Metering, Sessions, Turns, UsageSource } from '../../../records/contract.ts';
import {
  type AgentEvent,
  type Agents,
  type AgentTurn,
  type AgentTurnEvent,
  type AgentTurnResume,
  type AgentTurns,
  agentFailure,
  type ChatCall,
  type CheckpointPlace,
  type Checkpoints,
  type Conversation,
  type Conversations,
  composeConversation,
  type Models,
  type RunContext,
  STREAM_BEGINS_MS,
  TurnErrors,
} from '../../contract.ts';

/** What turns of agents are made of. */
export interface AgentTurnParts {
  readonly agents: Agents;
  readonly models: Pick<Models, 'resolve'>;
  readonly conversations: Conversations;
  readonly checkpoints: Checkpoints;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly turns: Pick<Turns, 'abort'>;
  readonly metering: Pick<Metering, 'total'>;
  readonly database: Pick<Database, 'forTenant'>;
}

/** A run in its conversation, and what is stored of it in addition to the messages. */
interface Running {
  readonly conversation: Conversation;
  readonly place: CheckpointPlace;
  readonly source: UsageSource;
  readonly model: string;
  /** Removes the checkpoint that the run goes on from, in the transaction that stores the result. */
  readonly taken?: RowWrite;
  readonly also: AgentTurnResume['also'];
}

/** Turns of agents in sessions. */
export function createAgentTurns(parts: AgentTurnParts): AgentTurns {
  const { agents, models, conversations, checkpoints, sessions, turns, metering, database } = parts;

  async function aliasOf({ principal }: ChatCall, agent: string | undefined, model?: string) {
    if (model !== undefined || agent === undefined) return model ?? 'default';
    return (await agents.find(principal.tenantId, agent))?.model ?? 'default';
  }

  const contextLength = (alias: string) => models.resolve(alias).info.context_length;

  async function begun(
    call: ChatCall,
    running: Running,
    run: (context: RunContext) => AsyncGenerator<AgentEvent, void>,
  ): Promise<AgentTurn> {
    const { conversation, model } = running;
    const alive = linkSignals(conversation.signal);
    const source = run(contextOf(call, conversation, alive.signal));
    try {
      const empty = () => TurnErrors.failed('The agent ended without an answer.');
      const events = await withFirst(source, empty, STREAM_BEGINS_MS);
      return {
        sessionId: conversation.sessionId,
        model,
        events: kept(call, running, events),
        async [Symbol.asyncDispose]() {
          await using _ = conversation;
          // Events that nobody has begun to read do not end with their reader.
          alive.abort(new Error('the turn was left'));
          await source.return();
        },
      };
    } catch (error) {
      // Noted first: the end of the conversation reports it.
      const failure = conversation.failure(error);
      await conversation[Symbol.asyncDispose]();
      throw agentFailure(failure);
    }
  }

  /** Yields the end when the turn is durable. */
  async function* kept(
    call: ChatCall,
    { conversation, place, source, taken, also: more }: Running,
    events: AsyncIterable<AgentEvent>,
  ): AsyncGenerator<AgentTurnEvent, void> {
    try {
      for await (const event of events) {
        if (event.type !== 'end') {
          yield event;
          continue;
        }
        const { result } = event;
        const { model, messages, uses, checkpoint } = result;
        const saved = checkpoint && checkpoints.save({ ...place, principal: call.principal, checkpoint });
        const end = { result, usage: metering.total(uses) };
        const own = [taken, saved].filter((write) => write !== undefined);
        const also = [...own, ...((await more?.(end, conversation.sessionId)) ?? [])];
        const status = result.finish === 'interrupted' ? 'interrupted' : 'completed';
        await conversation.keep({ model, source, status, messages, uses, ...(also.length > 0 && { also }) });
        yield { type: 'end', ...end };
        return;
      }
      throw TurnErrors.failed('The agent ended without an answer.', { retryable: false });
    } catch (error) {
      throw agentFailure(conversation.failure(error));
    }
  }

  return {
    async begin(call, { store, source, also, ...request }) {
      const { agent, messages, pauses } = request;
      const model = await aliasOf(call, agent, request.model);
      const opening = { messages, store, agent, model, contextLength: contextLength(model) };
      const conversation = await conversations.open(call, opening);
      const place = { sessionId: conversation.sessionId ?? '', agent: agent ?? '' };
      const assertMayBegin = async () => {
        if (pauses === 'allow') await assertNothingOpen(call, place);
      };
      const run = (context: RunContext) =>
        after(assertMayBegin, () =>
          agents.run({
            ...request,
            messages: composeConversation(conversation.history, conversation.messages),
            preamble: conversation.preamble,
            secretPreamble: conversation.secretPrompt,
            context,
            guards: conversation.guards,
          }),
        );
      return begun(call, { conversation, place, source, model, also }, run);
    },

    async resume(call, { agent, sessionId, source, also, decide }) {
      const place = { sessionId, agent: agent ?? '' };
      const entities = () => database.forTenant(call.principal.tenantId);
      await sessions.get(entities(), { ...call.principal, isAdmin: call.isAdmin }, sessionId);
      const waiting = await checkpoints.find(entities(), place);
      if (waiting === undefined) throw TurnErrors.notInterrupted();
      const { checkpoint } = waiting;
      const decisions = decide(checkpoint.interrupts);
      agents.checkDecisions(checkpoint, decisions);
      const model = await aliasOf(call, agent);
      const opening = { messages: [], store: true, agent, model, contextLength: undefined };
      const conversation = await conversations.open({ ...call, sessionId }, opening);
      const running = {
        conversation,
        place,
        source,
        model,
        also,
        taken: checkpoints.take({ ...place, checkpointId: checkpoint.id }),
      };
      // While this call waited for its turn another one may have taken the checkpoint.
      const assertStillOpen = async () => {
        const still = await checkpoints.find(entities(), place);
        if (still?.checkpoint.id !== checkpoint.id) throw TurnErrors.notInterrupted();
      };
      const { guards } = conversation;
      const run = (context: RunContext) =>
        after(assertStillOpen, () => agents.resume({ checkpoint, decisions, context, guards }));
      return begun(call, running, run);
    },

    async abort(entities, reader, { sessionId, agent = '' }) {
      if (await turns.abort(entities, reader, sessionId)) return true;
      const waiting = await checkpoints.find(entities, { sessionId, agent });
      if (waiting === undefined) return false;
      const taken = checkpoints.take({ sessionId, agent, checkpointId: waiting.checkpoint.id });
      return entities.writeTogether([taken]);
    },
  };

  async function assertNothingOpen({ principal }: ChatCall, place: CheckpointPlace): Promise<void> {
    const waiting = await checkpoints.find(database.forTenant(principal.tenantId), place);
    if (waiting !== undefined) {
      throw TurnErrors.interrupted('The session waits for decisions: resume the chat, or abort it');
    }
  }
}

/** The events of a run that begins after something else, and with the first `next()`. */
async function* after<T>(first: () => Promise<void>, run: () => AsyncIterable<T>): AsyncGenerator<T, void> {
  await first();
  yield* run();
}

function contextOf(call: ChatCall, conversation: Conversation, signal: AbortSignal): RunContext {
  const { principal, requestId, taskClass, traceHeaders, audit, log } = call;
  const { sessionId } = conversation;
  return { principal, sessionId, requestId, taskClass, signal, traceHeaders, audit, log };
}
