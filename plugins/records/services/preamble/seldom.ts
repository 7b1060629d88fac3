import type { Clock } from 'agent-gateway';

/**
 * Says the same thing once in a while: `tell` runs at the first call, and again at the first one after `everyMs`. For failures that every
 * request meets while a server is away.
 */
export function createSeldom(clock: Pick<Clock, 'monotonic'>, everyMs: number): (tell: () => void) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (tell) => {
    const now = clock.monotonic();
    if (now < quietUntil) return;
    quietUntil = now + everyMs;
    tell();
  };
}
