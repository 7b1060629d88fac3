import { extensionPoint, type GatewayError } from 'agent-gateway';
import type { ChatMessage, ChatRole } from '../../records/contract.ts';
import type { ChatChunk, ChatCompletion } from './models.ts';

/** Which chat a guard is asked about. */
export interface GuardedChat {
  readonly tenantId: string;
  /** `X-Svc-User-Id`, or the identity of the credential. */
  readonly userId: string;
  readonly identityId: string;
  /** The outermost agent; undefined for a chat completion, and for the default agent. */
  readonly agent: string | undefined;
  /** Alias of the model that is asked. */
  readonly model: string;
  /** Undefined for a chat that is not stored. */
  readonly sessionId: string | undefined;
  readonly requestId: string;
  /** Aborts when the chat ends early, and when the guard missed a deadline. */
  readonly signal: AbortSignal;
}

/** A text on its way to a model. */
export interface InputText {
  /** `tool` is a result, of a tool of the client or of the gateway. */
  readonly role: ChatRole;
  readonly text: string;
  /**
   * False for what stands before the last answer of the request: a client that keeps the conversation itself sends it
   * again each time.
   */
  readonly isNew: boolean;
}

/**
 * Why a text is refused: a sentence for the caller, which becomes `guard.input-blocked` (400) or `guard.output-blocked`
 * (502), or an error of the plugin's own catalogue, which is shown as it is.
 */
export type Refusal = string | GatewayError;

/**
 * The verdict of a guard on texts: undefined lets them pass; `replace` holds the texts as the model and the session get
 * them, one for each.
 */
export type InputVerdict = undefined | { readonly refuse: Refusal } | { readonly replace: readonly string[] };

/**
 * Which part of an answer a text is. `tool_call` is the arguments of a call, which are JSON as text and have to stay
 * JSON.
 */
export type AnswerPart = 'answer' | 'reasoning' | 'tool_call';

/**
 * The verdict of a guard on a text that has not left yet:
 * - undefined: all of it leaves;
 * - `hold`: so many of its last characters wait, and the guard sees them again together with what follows;
 * - `replace`: what leaves in place of it, but for the last `hold` characters;
 * - `end`: this leaves, and the answer is over: its finish reason is `content_filter`, and the model is not read any
 *   more;
 * - `refuse`: nothing more leaves.
 */
export type OutputVerdict =
  | undefined
  | { readonly hold: number }
  | { readonly replace: string; readonly hold?: number }
  | { readonly end: string }
  | { readonly refuse: Refusal };

/**
 * Looks at one text of an answer, as it is made: `text` is all that has not left, 192 Ki characters at most. Called for
 * each piece, one after the other, and at last with `isEnd`, when nothing can be held any more.
 */
export type OutputGuard = (
  text: string,
  at: { readonly isEnd: boolean },
) => OutputVerdict | Promise<OutputVerdict>;

/** A guard at work in one chat. Its answers are waited for as long as the guard's `timeoutMs` says. */
export interface OpenedGuard {
  /**
   * Looks at all texts that a caller sends, in one call; and at each result of a tool of the gateway. Media are not
   * shown.
   */
  readonly input?: (texts: readonly InputText[]) => InputVerdict | Promise<InputVerdict>;
  /**
   * Called for each text of each answer of the model, tool calls and sub-agents included; returns what looks at that
   * text. Undefined: the guard does not look at such a part.
   */
  readonly output?: (part: AnswerPart) => OutputGuard | undefined;
}

/**
 * A guard on what goes into chats and what comes out: chat completions, chats with agents in every API, agent tasks of
 * workflows, and what plugins run through `Agents` or `Chats`. The guardrails of the gateway come first on the way in
 * and last on the way out, so that no guard can make them show a credential. A chat that has begun keeps the guards
 * that it began with.
 */
export interface ChatGuard {
  /** For logs, metrics and refusals; begins with the plugin's name: `acme.words`. */
  readonly name: string;
  /**
   * Guards are asked by this number, smallest first, then by name; each sees what those before it let through.
   * Default 0.
   */
  readonly order?: number;
  /** Milliseconds for each answer, 1 to 30,000. Default 2,000. */
  readonly timeoutMs?: number;
  /**
   * What happens when the guard throws, is late, holds more than 64 Ki characters or returns something else than a
   * verdict: `refuse` ends the chat with `guard.failed` (503), `pass` lets the text through and leaves the guard out
   * for the rest of the chat. Default `refuse`.
   */
  readonly onFailure?: 'refuse' | 'pass';
  /**
   * Characters of an answer to gather before the guard is asked, 64 Ki at most; at the end it is asked with what there
   * is. For guards that are slow, or look at whole answers. Default 0: it is asked for each piece.
   */
  readonly gather?: number;
  /**
   * Called when a chat begins; undefined: the guard ignores the chat, for instance since its tenant does not want it.
   */
  readonly open: (chat: GuardedChat) => OpenedGuard | undefined | Promise<OpenedGuard | undefined>;
}

/** Guards of plugins on what goes into chats and what comes out of them. */
export const ChatGuardsPoint = extensionPoint<ChatGuard>('agent-engine.guards', {
  name: 'text',
  order: 'any?',
  timeoutMs: 'any?',
  onFailure: 'any?',
  gather: 'any?',
  open: 'function',
});

/** The guards of plugins that one chat began with. Each method throws what a guard refuses with, and `guard.failed`. */
export interface ChatGuarding {
  /** The messages as the guards let them through. */
  input(messages: readonly ChatMessage[]): Promise<readonly ChatMessage[]>;
  /** The result of a tool that the gateway ran. */
  toolResult(text: string): Promise<string>;
  /**
   * A streamed answer as the guards let it through. If any guard looks at answers, what no guard can look at is left
   * out: log probabilities, and members of a delta that are not text, except for those that `keeps` names.
   */
  stream(chunks: AsyncIterable<ChatChunk>, keeps?: readonly string[]): AsyncIterable<ChatChunk>;
  /** The same for a whole answer. */
  completion(completion: ChatCompletion): Promise<ChatCompletion>;
  /** Aborts the signals that the guards got: the chat has ended early. Without effect where it was called before. */
  endEarly(reason: unknown): void;
}

/**
 * A guard of answers that replaces what a pattern finds, however the text is cut into pieces.
 *
 * @param longest characters of the longest match: so many are held back, so a match that is longer may be missed. The
 * pattern sees no text that has left, so `^`, `\b` and lookbehinds may match at the beginning of what is left
 * @example output: (part) => (part === 'answer' ? replaceMatches(/\b\d{4}-\d{4}\b/, '[number]', 10) : undefined)
 */
export function replaceMatches(pattern: RegExp, by: string, longest: number): OutputGuard {
  const all = new RegExp(pattern, pattern.flags.includes('g') ? pattern.flags : `${pattern.flags}g`);
  return (text, { isEnd }) => {
    // A match that begins before it is whole, since nothing is longer.
    const decided = isEnd ? text.length : Math.max(0, text.length - longest + 1);
    let replace = '';
    let at = 0;
    for (const { 0: found, index } of text.matchAll(all)) {
      if (index >= decided) break;
      replace += text.slice(at, index) + by;
      at = index + found.length;
    }
    const until = Math.max(at, decided);
    return { replace: replace + text.slice(at, until), hold: text.length - until };
  };
}
