import { type Database, GatewayError } from 'agent-gateway';
import type { ChatMessage, Guard, ModelUse } from '../../../agent-engine/contract.ts';
import type { Metering, Preambles, Turn, Turns, UsageSource } from '../../../records/contract.ts';
import type { ChatCall } from './chat-call.ts';
import { keptMessages } from './kept-messages.ts';

/** How much of a model's context the gateway fills by itself, in estimated tokens. */
interface ContextBudget {
  /** Personality, profile, memories and skills. */
  readonly preambleTokens: number;
  /** Stored history. */
  readonly historyTokens: number;
}

/** What a request says that matters to its session. */
interface ConversationRequest {
  readonly messages: readonly ChatMessage[];
  /** False stores nothing. */
  readonly store: boolean;
  /** Tokens that fit into the model, where that is known. */
  readonly contextLength: number | undefined;
}

/** What a finished answer adds. */
interface KeptAnswer {
  readonly model: string;
  readonly source: UsageSource;
  /** Redacted. */
  readonly messages: readonly ChatMessage[];
  readonly uses: readonly ModelUse[];
}

/** A request in its session, or in none. Dispose it in any case; without `keep` nothing of it stays. */
export interface Conversation extends AsyncDisposable {
  /** Undefined when nothing is stored. */
  readonly sessionId: string | undefined;
  /** Aborts when the caller is gone, the chat was aborted, or the session was lost. */
  readonly signal: AbortSignal;
  readonly preamble: string;
  /** The tenant's personality file, which an answer must not give away. */
  readonly secretPrompt: string | undefined;
  /** What was said in the session before, oldest first. */
  readonly history: readonly ChatMessage[];
  /** Writes the turn, its counters and its usage in one transaction. When it has resolved, the turn is durable. */
  keep(answer: KeptAnswer): Promise<void>;
  /** What to throw for a failure: the reason why the conversation ended, where it did. */
  failure(error: unknown): unknown;
}

/** What conversations are made of. */
export interface ConversationParts {
  readonly turns: Turns;
  readonly preambles: Preambles;
  readonly guard: Guard;
  readonly metering: Metering;
  readonly database: Pick<Database, 'forTenant'>;
  readonly budget: ContextBudget;
}

/** Opens conversations: takes the session's turn, and collects what the model has to know. */
export function createConversations(parts: ConversationParts) {
  const { turns, preambles, guard, metering, database, budget } = parts;

  async function write(
    { principal }: ChatCall,
    turn: Turn | undefined,
    said: readonly ChatMessage[],
    { model, source, messages, uses }: KeptAnswer,
  ): Promise<void> {
    const priced = await metering.price(uses);
    if (turn !== undefined) {
      await turn.commit({ model, source, messages: [...said, ...messages], uses: priced });
      return;
    }
    // Nothing is stored of what was said; what it cost is.
    const owner = { principal, source };
    await metering.record(database.forTenant(principal.tenantId), owner, priced);
  }

  /** Throws what `Turns.begin` throws, and `session.turn-too-large`. */
  async function open(call: ChatCall, request: ConversationRequest): Promise<Conversation> {
    const { principal, isAdmin, sessionId, maxSessions, signal } = call;
    if (!request.store) return conversation(call, undefined, [], []);
    const said = keptMessages(request.messages, guard);
    const turn = await turns.begin({ principal, isAdmin, sessionId, maxSessions, signal });
    try {
      const history = turn.isNew ? [] : await turn.history(historyTokens(request.contextLength, budget));
      return await conversation(call, turn, said, history);
    } catch (error) {
      await turn[Symbol.asyncDispose]();
      throw error;
    }
  }

  async function conversation(
    call: ChatCall,
    turn: Turn | undefined,
    said: readonly ChatMessage[],
    history: readonly ChatMessage[],
  ): Promise<Conversation> {
    const signal = turn?.signal ?? call.signal;
    const known = preambles.of(call.principal, budget.preambleTokens);
    const { text, secret } = known instanceof Promise ? await known : known;
    return {
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

/** Conversations of one gateway. */
export type Conversations = ReturnType<typeof createConversations>;

/** History may have what is set, and never more than half of the model's context. Pure. */
function historyTokens(contextLength: number | undefined, budget: ContextBudget): number {
  return Math.min(budget.historyTokens, Math.floor((contextLength ?? Number.POSITIVE_INFINITY) / 2));
}

const INSTRUCTIONS: ReadonlySet<string> = new Set(['system', 'developer']);

/** True for a message that instructs the model instead of talking to it. */
function isInstruction({ role }: ChatMessage): boolean {
  return INSTRUCTIONS.has(role);
}

/**
 * What the model is to see: the stored history, then the new messages. Instructions hold for the turn that they came with and, until others
 * come, for the turns after it; history never repeats older ones. Pure.
 */
export function composeConversation(
  history: readonly ChatMessage[],
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (history.length === 0) return messages;
  const said = history.filter((message) => !isInstruction(message));
  if (messages.some(isInstruction)) {
    const first = messages.findIndex((message) => !isInstruction(message));
    const leading = first < 0 ? messages.length : first;
    return [...messages.slice(0, leading), ...said, ...messages.slice(leading)];
  }
  const instruction = history.findLast(isInstruction);
  return instruction === undefined ? [...said, ...messages] : [instruction, ...said, ...messages];
}

/**
 * Puts a preamble in front. It is joined with a first instruction, since some servers take one system message alone, and as the first of
 * all. Pure.
 */
export function withPreamble(preamble: string, messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (preamble === '') return messages;
  const [first, ...rest] = messages;
  if (first === undefined || !isInstruction(first))
    return [{ role: 'system', content: preamble }, ...messages];
  if (Array.isArray(first.content)) {
    return [{ ...first, content: [{ type: 'text', text: `${preamble}\n\n` }, ...first.content] }, ...rest];
  }
  return [{ ...first, content: `${preamble}\n\n${first.content ?? ''}` }, ...rest];
}

/** What a client says in this request: the messages behind the last answer. Pure. */
export function newMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** The text of a message, its parts joined; media are left out. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text }) => text ?? '').join('\n');
}
