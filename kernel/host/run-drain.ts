import { within } from '../../foundation/base/deadline.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Drain } from './effects.ts';

/** Milliseconds beyond the drain time in which background work, and a queue's messages in hand, end. */
export const DRAIN_GRACE = 3_000;

/** Ends background work: gives it `drainTimeout` ms, then tells it so. Resolves with a sentence where it did not end. Never rejects. */
export async function runDrain({ name, finish }: Drain, drainTimeout: number): Promise<string | undefined> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(KernelErrors.draining()), drainTimeout);
  try {
    await within(drainTimeout + DRAIN_GRACE, `the drain of ${name}`, finish(over.signal));
    return undefined;
  } catch (failure) {
    return `${name} was not drained: ${failure instanceof Error ? failure.message : String(failure)}`;
  } finally {
    clearTimeout(timer);
  }
}
