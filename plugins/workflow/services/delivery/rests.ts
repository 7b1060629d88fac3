import type { Clock } from 'agent-gateway';
import { LRUCache } from 'lru-cache';

/** Milliseconds for which a sink that took too long is left alone, for one tenant. */
const REST_MS = 30_000;
const MAX_RESTING = 10_000;
/** Deliveries to one sink for one tenant that are under way at one time, in one process. */
const SHARE = 4;

/** Which tenants a sink is left alone for, since it did not end in time for them. */
export interface Rests {
  /** Begins one. */
  begin(tenantId: string): void;
  /** The sink has answered for the tenant: it is as good as any other again. */
  end(tenantId: string): void;
  /** Milliseconds that are left; 0 when there is none. */
  leftMs(tenantId: string): number;
  /** Deliveries for the tenant that may be under way at one time: none in a rest, one to try after it, until the sink has answered; else four. */
  share(tenantId: string): number;
}

/** Makes those of one sink. */
export function createRests(clock: Pick<Clock, 'monotonic'>): Rests {
  // Monotonic time. What falls out is tried like any other.
  const until = new LRUCache<string, number>({ max: MAX_RESTING });
  const leftMs = (tenantId: string) => Math.max(0, (until.get(tenantId) ?? 0) - clock.monotonic());
  return {
    begin: (tenantId) => void until.set(tenantId, clock.monotonic() + REST_MS),
    end: (tenantId) => void until.delete(tenantId),
    leftMs,
    share(tenantId) {
      if (!until.has(tenantId)) return SHARE;
      return leftMs(tenantId) > 0 ? 0 : 1;
    },
  };
}
