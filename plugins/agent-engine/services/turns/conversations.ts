import { type Database, GatewayError } from 'agent-gateway';
import type { ChatMessage, Metering, Preamble, Preambles, Turn, Turns } from '../../../records/contract.ts';
import type {
  ChatCall,
  Conversation,
  ConversationRequest,
  Conversations,
  Guard,
  KeptAnswer,
} from '../../contract.ts';
import type { OpenChatGuards } from '../guard/chat/chat-guards.ts';
import { keptMessages } from './kept-messages.ts';

/** How much of a model's context the gateway fills by itself, in estimated tokens. */
interface ContextBudget {
  /** Personality, profile, memories and skills. */
  readonly preambleTokens: number;
  /** Stored history. */
  readonly historyTokens: number;
}

const NOTHING: Preamble = { text: '', secret: undefined };

/** What conversations are made of. */
export interface ConversationParts {
  readonly turns: Turns;
  readonly preambles: Preambles;
  readonly guard: Guard;
  readonly openGuards: OpenChatGuards;
  readonly metering: Metering;
  readonly database: Pick<Database, 'forTenant'>;
  readonly budget: ContextBudget;
}

/** Opens conversations: takes the session's turn, and collects what the model has to know. */
export function createConversations(parts: ConversationParts): Conversations {
  const { turns, preambles, guard, openGuards, metering, database, budget } = parts;

  async function write(
    { principal }: ChatCall,
    turn: Turn | undefined,
    said: readonly ChatMessage[],
    { model, source, messages, uses, also }: KeptAnswer,
  ): Promise<void> {
    const priced = await metering.price(uses);
    if (turn !== undefined) {
      await turn.commit({
        model,
        source,
        messages: [...said, ...messages],
        uses: priced,
        ...(also && { also }),
      });
      return;
    }
    // Nothing is stored of what was said; what it cost is.
    const owner = { principal, source };
    await metering.record(database.forTenant(principal.tenantId), owner, priced);
  }

  const open: Conversations['open'] = async (call, request) => {
    const { principal, isAdmin, sessionId, maxSessions, signal } = call;
    await guard.inspect(request.messages);
    if (!request.store) return conversation(call, undefined, request);
    const kept = keptMessages(request.messages, guard);
    const turn = await turns.begin({ principal, isAdmin, sessionId, maxSessions, signal });
    try {
      return await conversation(call, turn, request, kept);
    } catch (error) {
      await turn[Symbol.asyncDispose]();
      throw error;
    }
  };

  async function conversation(
    call: ChatCall,
    turn: Turn | undefined,
    { messages: given, agent, model, contextLength }: ConversationRequest,
    kept: readonly ChatMessage[] = [],
  ): Promise<Conversation> {
    const { principal, requestId } = call;
    const signal = turn?.signal ?? call.signal;
    const opening = openGuards({ ...principal, agent, model, sessionId: turn?.sessionId, requestId, signal });
    const guards = opening instanceof Promise ? await opening : opening;
    const messages = await guards.input(given);
    const said = messages === given ? kept : keptMessages(messages, guard);
    const isFirst = turn === undefined || turn.isNew;
    const history = isFirst ? [] : await turn.history(historyTokens(contextLength, budget));
    const known = call.context === 'none' ? NOTHING : preambles.of(call.principal, budget.preambleTokens);
    const { text, secret } = known instanceof Promise ? await known : known;
    return {
      messages,
      guards,
      sessionId: turn?.sessionId,
      signal,
      preamble: text,
      secretPrompt: secret,
      history,
      keep: (answer) => write(call, turn, said, answer),
      failure: (error) => (signal.aborted && signal.reason instanceof GatewayError ? signal.reason : error),
      [Symbol.asyncDispose]: async () => turn?.[Symbol.asyncDispose](),
    };
  }

  return { open };
}

/** History may have what is set, and never more than half of the model's context. Pure. */
function historyTokens(contextLength: number | undefined, budget: ContextBudget): number {
  return Math.min(budget.historyTokens, Math.floor((contextLength ?? Number.POSITIVE_INFINITY) / 2));
}
