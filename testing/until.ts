import { setTimeout as pause } from 'node:timers/promises';

/**
 * Milliseconds between two looks at most, where the condition returns a promise: a process that is busy answering looks
 * makes no progress.
 */
const MOST_PAUSE_MS = 40;

/**
 * Resolves once the condition holds; rejects after `deadlineMs` (default 20 s, since machines that test are busy).
 * Looks every 5 ms, and ever more seldom where the condition gives a promise.
 */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 20_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (let pauseMs = 5; ; ) {
    const answer = condition();
    if (await answer) return;
    if (performance.now() > deadline) throw new Error(`not so within ${deadlineMs} ms: ${condition}`);
    await pause(pauseMs);
    if (typeof answer !== 'boolean') pauseMs = Math.min(pauseMs * 1.2, MOST_PAUSE_MS);
  }
}
