import { Bulkhead, type Clock, type Release, recentMap, Semaphore } from 'agent-gateway';

/** Milliseconds that a caller waits for a turn, and the callers that may wait for those of one webhook. */
const LINE_MS = 1_000;
const MOST_IN_LINE = 50;
/** Webhooks whose lines are remembered: far more than are called in the time of one attempt. */
const MOST_LINES = 10_000;
/**
 * Milliseconds after which a caller has to come again: the maximum, and the unit to which they are rounded up, since
 * each distinct moment costs a query.
 */
const MOST_WAIT_MS = 600_000;
const STEP_MS = 500;

/** A place, or the milliseconds after which to come again. */
export type Place = { readonly leave: Release } | { readonly waitMs: number };

/**
 * The places of a bulkhead for webhooks, of which one webhook has no more than `most`, however many deliveries wait for
 * it. A few callers wait for a moment in line, where that is worth it; all others are given a time to come again, one
 * after the other, at the pace at which the webhook is called, so that they do not come all at once.
 */
export function createPlaces(places: number, most: number, clock: Pick<Clock, 'monotonic'>) {
  const bulkhead = new Bulkhead(places, clock);
  const lines = recentMap<{ readonly turns: Semaphore; nextAt: number }>(MOST_LINES);

  return async (tenantId: string, webhookId: string): Promise<Place> => {
    const key = `${tenantId}/${webhookId}`;
    const line = lines.get(key) ?? { turns: new Semaphore(most, { timeoutMs: LINE_MS }), nextAt: 0 };
    lines.set(key, line);
    const { turns } = line;
    // Otherwise no turn comes while it would stand in line, and callers in line keep others of the process waiting.
    const isWorthIt = bulkhead.usualMs(key) <= LINE_MS && turns.waiting < MOST_IN_LINE;
    const end = turns.isFree || isWorthIt ? await turns.acquire().catch(() => undefined) : undefined;
    const leave = end && bulkhead.enter(key, tenantId);
    if (leave !== undefined)
      return {
        leave() {
          leave();
          end?.();
        },
      };
    end?.();
    const now = clock.monotonic();
    line.nextAt = Math.max(line.nextAt, now) + bulkhead.usualMs(key) / most;
    const at = Math.ceil(line.nextAt / STEP_MS) * STEP_MS;
    return { waitMs: Math.min(Math.ceil(at - now), MOST_WAIT_MS) };
  };
}
