import { defineErrors, GatewayError, type Logger } from 'agent-gateway';
import type { AuditChanges, Principal } from '../../../agent-engine/contract.ts';

/** Everything about a chat request that is not in its body. */
export interface ChatCall {
  readonly principal: Principal;
  /** May use every session of the tenant. */
  readonly isAdmin: boolean;
  /** The tenant's bound on sessions with a turn in flight. */
  readonly maxSessions: number;
  /** `X-Svc-Session-Id`. */
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Adds what tools made or changed to the audit record of the request. */
  readonly audit: (changes: AuditChanges) => void;
  readonly log: Logger;
}

/** An answer and the session that it belongs to; without one nothing was stored. */
export interface Answered<T> {
  readonly sessionId: string | undefined;
  readonly answer: T;
}

/** Where a streamed answer goes. A promise means: wait, the reader is slower. */
export interface EventSink {
  /** Sends the text of one event. */
  data(text: string): Promise<void> | undefined;
  /** Sends a named event. */
  send(event: { readonly event: string; readonly data: string }): Promise<void> | undefined;
}

/** Sends a streamed answer; has to be called, once. Throws what broke the stream. */
export type SendAnswer = (sink: EventSink) => Promise<void>;

/**
 * Begins a streamed answer out of what a model or an agent tells, once the first of it is there: what fails before can still be reported by a
 * status. Disposes of the conversation when the answer has ended, and of the source with it. `failure` makes the error to be thrown.
 */
export async function streamed<T>(
  conversation: AsyncDisposable & { readonly sessionId: string | undefined },
  source: AsyncIterable<T>,
  send: (told: AsyncIterable<T>, sink: EventSink) => Promise<void>,
  { empty, failure }: { empty: () => GatewayError; failure: (thrown: unknown) => unknown },
): Promise<Answered<SendAnswer>> {
  const iterator = source[Symbol.asyncIterator]();
  let first: IteratorResult<T>;
  try {
    first = await iterator.next();
    if (first.done) throw empty();
  } catch (error) {
    await conversation[Symbol.asyncDispose]();
    throw failure(error);
  }
  async function answer(sink: EventSink): Promise<void> {
    await using _ = conversation;
    try {
      await send(whole(first, iterator), sink);
    } catch (error) {
      throw failure(error);
    }
  }
  return { sessionId: conversation.sessionId, answer };
}

/** The first and what follows it. However the reading ends, the source has ended with it. */
async function* whole<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T, void> {
  try {
    for (let result = first; !result.done; result = await rest.next()) yield result.value;
  } finally {
    await rest.return?.();
  }
}

/** What can go wrong with a chat, beside the errors of the agent engine. */
export const ChatErrors = defineErrors({
  /** The model, or the engine itself, failed while an agent was at work. Nothing was stored. */
  agentFailed: { code: 'agent.failed', kind: 'upstream', title: 'The agent failed' },
});

/** Codes of the model port that mean a wrong request, not a failure. */
const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set(['model_not_found', 'model.aborted']);

/**
 * The error of the agent route for what its run threw: a failure of models or of the engine is 502 and not to be repeated by client
 * libraries, since tools may have run (specification 1, Chat, rule 1). What the request itself is to blame for stays as it is.
 */
export function agentFailure(thrown: unknown): GatewayError {
  if (!(thrown instanceof GatewayError)) {
    return ChatErrors.agentFailed(undefined, { retryable: false, cause: thrown });
  }
  const isModelFailure = thrown.code.startsWith('model.') && !ABOUT_THE_REQUEST.has(thrown.code);
  if (!isModelFailure && thrown.kind !== 'internal') return thrown;
  return ChatErrors.agentFailed(`The agent failed: ${thrown.detail}`, { retryable: false, cause: thrown });
}
