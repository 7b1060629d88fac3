import { type Database, type DurableEvents, GatewayError, linkSignals } from 'agent-gateway';
import {
  type ChatMessage,
  type Metering,
  type Preamble,
  type Preambles,
  type Turn,
  type Turns,
  turnFinishedWrites,
} from '../../../records/contract.ts';
import {
  type ChatCall,
  type ChatGuarding,
  type Conversation,
  type ConversationRequest,
  type Conversations,
  type Guard,
  type KeptAnswer,
  TurnFailed,
  textOf,
} from '../../contract.ts';
import { NO_GUARDS, type OpenChatGuards } from '../guard/chat/chat-guards.ts';
import { keptMessages } from './kept-messages.ts';

/** How much of a model's context the gateway fills by itself, in estimated tokens. */
interface ContextBudget {
  /** Personality, profile, memories and skills. */
  readonly preambleTokens: number;
  /** Stored history. */
  readonly historyTokens: number;
}

const AGENT_NAME = /^[\w.-]{1,128}$/;

const NOTHING: Preamble = { text: '', secret: undefined };

/** What conversations are made of. */
export interface ConversationParts {
  readonly turns: Turns;
  readonly preambles: Preambles;
  readonly guard: Guard;
  readonly openGuards: OpenChatGuards;
  readonly metering: Metering;
  readonly database: Pick<Database, 'forTenant'>;
  readonly durableEvents: DurableEvents;
  readonly budget: ContextBudget;
}

/** Opens conversations: takes the session's turn, and collects what the model has to know. */
export function createConversations(parts: ConversationParts): Conversations {
  const { turns, preambles, guard, openGuards, metering, database, durableEvents, budget } = parts;

  async function write(
    { principal }: ChatCall,
    turn: Turn | undefined,
    { said, agent }: { readonly said: readonly ChatMessage[]; readonly agent: string | undefined },
    { messages, uses, ...answer }: KeptAnswer,
  ): Promise<void> {
    const priced = await metering.price(uses);
    if (turn !== undefined) {
      await turn.commit({ ...answer, agent, messages: [...said, ...messages], uses: priced });
      return;
    }
    // The messages are not stored; the usage is.
    const { model, source, status } = answer;
    const finished = turnFinishedWrites(durableEvents, { agent, model, source, status, uses: priced });
    const entities = database.forTenant(principal.tenantId);
    await metering.record(entities, { principal, source }, priced, finished);
  }

  /**
   * Publishes that the turn failed. Never rejects: the caller already has a failure to report, and nothing was written
   * that this event would have to agree with.
   */
  async function publishFailure(
    { principal, requestId, log }: ChatCall,
    { agent, model }: ConversationRequest,
    sessionId: string | undefined,
    { error, isAborted }: { readonly error: unknown; readonly isAborted: boolean },
  ): Promise<void> {
    if (!durableEvents.hasSubscribers(TurnFailed)) return;
    const payload = {
      // The client chose this name: there may be no such agent.
      agent: agent !== undefined && AGENT_NAME.test(agent) ? agent : null,
      session_id: sessionId ?? null,
      model,
      request_id: requestId,
      reason: isAborted ? ('aborted' as const) : ('failed' as const),
      error: error instanceof GatewayError ? error.code : null,
    };
    try {
      await durableEvents.publish(database.forTenant(principal.tenantId), TurnFailed, payload);
    } catch (err) {
      log.error({ err }, 'subscribers do not hear of a turn that failed');
    }
  }

  const open: Conversations['open'] = async (call, request) => {
    const { principal, isAdmin, sessionId, maxSessions, signal } = call;
    await guard.inspect(request.messages, call);
    const kept = request.store ? keptMessages(request.messages, guard) : [];
    const begin = () => turns.begin({ principal, isAdmin, sessionId, maxSessions, signal });
    const place = request.store ? inTurn(await begin()) : outside(signal);
    let guards = NO_GUARDS;
    try {
      guards = await guardsOf(call, place, request);
      return await conversation(call, place, guards, request, kept);
    } catch (error) {
      guards.endEarly(error);
      await place.letGo();
      throw error;
    }
  };

  /** What was said in the session before, also where this turn is not stored in it. */
  function historyOf(
    { principal, isAdmin, sessionId }: ChatCall,
    turn: Turn | undefined,
    maxTokens: number,
  ): Promise<readonly ChatMessage[]> | readonly ChatMessage[] {
    if (turn !== undefined) return turn.isNew ? [] : turn.history(maxTokens);
    return sessionId === undefined ? [] : turns.history({ principal, isAdmin, sessionId }, maxTokens);
  }

  function guardsOf(
    { principal, requestId }: ChatCall,
    { turn, signal }: Place,
    { agent, model }: ConversationRequest,
  ): ChatGuarding | Promise<ChatGuarding> {
    return openGuards({ ...principal, agent, model, sessionId: turn?.sessionId, requestId, signal });
  }

  async function conversation(
    call: ChatCall,
    { turn, signal, letGo }: Place,
    guards: ChatGuarding,
    request: ConversationRequest,
    kept: readonly ChatMessage[],
  ): Promise<Conversation> {
    const { messages: given, agent, contextLength } = request;
    const { sessionId } = turn ?? {};
    const messages = await guards.input(given);
    const said = messages === given ? kept : keptMessages(messages, guard);
    const history = await historyOf(call, turn, historyTokens(contextLength, budget));
    const { text, secret } =
      call.context === 'none'
        ? NOTHING
        : await preambles.of(call.principal, budget.preambleTokens, lastSaid(messages, history));
    let end: 'open' | 'kept' | 'over' = 'open';
    let failure: unknown;
    return {
      messages,
      guards,
      sessionId,
      signal,
      preamble: text,
      secretPrompt: secret,
      history,
      async keep(answer) {
        await write(call, turn, { said, agent }, answer);
        end = 'kept';
      },
      failure(error) {
        failure = signal.aborted && signal.reason instanceof GatewayError ? signal.reason : error;
        return failure;
      },
      async [Symbol.asyncDispose]() {
        const isFailed = end === 'open';
        const isAborted = signal.aborted;
        end = 'over';
        if (isFailed) guards.endEarly(failure ?? signal.reason);
        await letGo();
        if (isFailed) await publishFailure(call, request, sessionId, { error: failure, isAborted });
      },
    };
  }

  return { open };
}

/** Where a conversation takes place. */
interface Place {
  /** Undefined where it is not stored. */
  readonly turn: Turn | undefined;
  /** Ends with the conversation, for all that listens to it. */
  readonly signal: AbortSignal;
  letGo(): PromiseLike<void>;
}

function inTurn(turn: Turn): Place {
  return { turn, signal: turn.signal, letGo: () => turn[Symbol.asyncDispose]() };
}

function outside(caller: AbortSignal): Place {
  const { signal, end } = linkSignals(caller);
  return { turn: undefined, signal, letGo: async () => end() };
}

/** Texts of the user that say what a conversation is about now. */
const LAST_SAID = 3;

/** What the user said last, the latest last. Pure. */
function lastSaid(messages: readonly ChatMessage[], history: readonly ChatMessage[]): readonly string[] {
  const said: string[] = [];
  for (const part of [messages, history]) {
    for (let index = part.length - 1; index >= 0 && said.length < LAST_SAID; index -= 1) {
      const message = part[index]!;
      if (message.role === 'user') said.unshift(textOf(message));
    }
  }
  return said;
}

/** History may have what is set, and never more than half of the model's context. Pure. */
function historyTokens(contextLength: number | undefined, budget: ContextBudget): number {
  return Math.min(budget.historyTokens, Math.floor((contextLength ?? Number.POSITIVE_INFINITY) / 2));
}
