import { DeadlineError, GatewayError, linkSignals, orAborted, within } from 'agent-gateway';
import { type ChatGuard, GuardErrors, type GuardedChat, type OpenedGuard } from '../../../contract.ts';

/** Milliseconds for an answer of a guard that sets no `timeoutMs`. */
const TIMEOUT = 2_000;
const MAX_TIMEOUT = 30_000;

/** What a guard did, for logs and metrics. */
export type GuardEvent = 'refused' | 'replaced' | 'ended' | 'failed';

/** Called with what a guard did. Must not throw. */
export type OnGuardEvent = (
  guard: string,
  direction: 'input' | 'output',
  event: GuardEvent,
  cause?: unknown,
) => void;

/** A guard returned something else than a verdict, which counts as its failure. */
export class VerdictError extends Error {
  override readonly name = 'VerdictError';
}

/** A guard that looks at a chat. */
export interface GuardAtWork extends OpenedGuard {
  readonly name: string;
  readonly gather: number;
  /** True once it failed with `onFailure: pass`: texts pass without it. */
  isOut(): boolean;
  /**
   * What `read` makes of the guard's verdict. Undefined when the guard failed with `onFailure: pass`. Throws
   * `guard.failed`, what `read` throws as a `GatewayError`, and the reason of the chat's signal.
   */
  ask<V, R>(
    direction: 'input' | 'output',
    look: () => V | Promise<V>,
    read: (verdict: V) => R,
  ): R | undefined | Promise<R | undefined>;
  report(direction: 'input' | 'output', event: GuardEvent): void;
}

/**
 * Opens the guards for a chat, side by side; the result has those that want to look at it, in their order. Throws
 * `guard.failed`.
 */
export async function openGuards(
  guards: readonly ChatGuard[],
  chat: GuardedChat,
  onEvent: OnGuardEvent,
): Promise<readonly GuardAtWork[]> {
  const opened = await Promise.all([...guards].sort(inOrder).map((guard) => openGuard(guard, chat, onEvent)));
  return opened.filter((guard) => guard !== undefined);
}

function inOrder(one: ChatGuard, other: ChatGuard): number {
  const byNumber = (one.order ?? 0) - (other.order ?? 0);
  if (byNumber !== 0) return byNumber;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

async function openGuard(
  guard: ChatGuard,
  chat: GuardedChat,
  onEvent: OnGuardEvent,
): Promise<GuardAtWork | undefined> {
  const { name, onFailure = 'refuse', timeoutMs = TIMEOUT } = guard;
  // Both end with the chat.
  const { signal, abort } = linkSignals(chat.signal);
  const deadline = Math.min(MAX_TIMEOUT, Math.max(1, timeoutMs));
  let isOut = false;

  function failed(direction: 'input' | 'output', cause: unknown): undefined {
    chat.signal.throwIfAborted();
    if (cause instanceof DeadlineError) abort(cause);
    onEvent(name, direction, 'failed', cause);
    if (onFailure === 'pass') {
      isOut = true;
      return undefined;
    }
    const what = direction === 'input' ? 'input' : 'answer';
    throw GuardErrors.failed(`The guard "${name}" failed, and refuses the ${what} then.`, {
      ...(direction === 'output' && { retryable: false }),
      cause,
    });
  }

  function ask<V, R>(
    direction: 'input' | 'output',
    look: () => V | Promise<V>,
    read: (verdict: V) => R,
  ): R | undefined | Promise<R | undefined> {
    let verdict: V | Promise<V>;
    try {
      verdict = look();
      if (!(verdict instanceof Promise)) return read(verdict);
    } catch (error) {
      return failed(direction, error);
    }
    return waited(direction, verdict, read);
  }

  async function waited<V, R>(direction: 'input' | 'output', verdict: Promise<V>, read: (verdict: V) => R) {
    try {
      return read(await within(deadline, `The guard "${name}"`, orAborted(verdict, chat.signal)));
    } catch (error) {
      return failed(direction, error);
    }
  }

  const opened = await ask(
    'input',
    () => guard.open({ ...chat, signal }),
    (found) => found,
  );
  if (opened === undefined) return undefined;
  return {
    name,
    gather: guard.gather ?? 0,
    isOut: () => isOut,
    ...(opened.input && { input: (texts) => opened.input?.(texts) }),
    ...(opened.output && { output: (part) => opened.output?.(part) }),
    ask,
    report: (direction, event) => onEvent(name, direction, event),
  };
}

/** The error of a refusal. */
export function refusal(guard: string, direction: 'input' | 'output', why: unknown): GatewayError {
  if (why instanceof GatewayError) return why;
  if (typeof why !== 'string')
    throw new VerdictError('`refuse` is neither a text nor an error of a catalogue');
  const reason = why.slice(0, MAX_REASON).toWellFormed();
  return direction === 'input'
    ? GuardErrors.inputBlocked(`The guard "${guard}" refused the input: ${reason}`, { param: 'messages' })
    : GuardErrors.outputBlocked(`The guard "${guard}" refused the answer: ${reason}`, { retryable: false });
}

/** Characters of a reason that are shown. */
const MAX_REASON = 500;
