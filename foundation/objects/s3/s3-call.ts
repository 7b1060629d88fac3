import { DeadlineError } from '../../base/deadline.ts';
import { orAborted } from '../or-aborted.ts';

/** How long a request may take with all its retries: enough for 5 MiB at 100 KiB a second. */
const DEADLINE_MS = 60_000;

/**
 * Does one request with a deadline: rejects with `DeadlineError` when it is over, with the reason of `signal` when that
 * is aborted. Both end the request. The deadline ends with the promise: a body that is still being read is not cut off
 * by it.
 */
export async function call<T>(
  request: (abortSignal: AbortSignal) => Promise<T>,
  { signal, deadlineMs = DEADLINE_MS }: { signal?: AbortSignal | undefined; deadlineMs?: number } = {},
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(
    () => deadline.abort(new DeadlineError(`S3 did not answer within ${deadlineMs / 1000} s`)),
    deadlineMs,
  );
  const either = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
  try {
    return await orAborted(request(either), either);
  } catch (error) {
    // The SDK rejects with an error of its own when it is aborted.
    throw either.aborted ? either.reason : error;
  } finally {
    clearTimeout(timer);
  }
}
