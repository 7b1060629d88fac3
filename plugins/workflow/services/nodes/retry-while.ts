import { setTimeout as pause } from 'node:timers/promises';
import { type BackoffBounds, backoffDelay } from 'agent-gateway';

/** What is tried again, and how patiently. */
interface RetryOptions {
  /** True for a temporary failure that the workflow did not cause. */
  readonly isPassing: (error: unknown) => boolean;
  /** Milliseconds between tries: the first, and the longest. */
  readonly pauses: BackoffBounds;
  /** Called with the first such failure. */
  readonly begins?: (error: unknown) => void;
}

/**
 * Repeats the call after temporary failures, until the deadline of the step aborts `signal`. Every other failure is
 * thrown.
 */
export async function retryWhile<T>(
  call: () => Promise<T>,
  { isPassing, pauses, begins }: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      if (failures === 1) begins?.(error);
    }
    await pause(backoffDelay(failures, pauses), undefined, { signal });
  }
}
