import type { Clock } from '../../base/clock.ts';
import type { Claim, Claims } from './claim.ts';

/**
 * The form for a single process: the line alone excludes, and holders live as long as the process, so there is nothing to
 * renew. Fences grow over restarts as long as the machine's clock does not go back by more than the process was away.
 */
export function createMemoryClaims(clock: Clock): Claims {
  let fence = 0;
  return {
    claim: () => {
      const claim = {
        fence: 0,
        async attempt() {
          fence = Math.max(fence + 1, clock.now() * 1_000);
          claim.fence = fence;
          return true;
        },
        async renew() {},
        heldUntil: () => Number.POSITIVE_INFINITY,
        async release() {},
      } satisfies Claim;
      return claim;
    },
    onFree() {},
    async close() {},
  };
}
