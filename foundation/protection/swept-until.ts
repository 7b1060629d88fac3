import { recentMap } from '../base/recent-map.ts';

/** Where sweeps begin. */
export interface SweptUntilOptions {
  /**
   * Milliseconds that a sweep begins earlier than the one before has ended. Default: an hour, for replicas whose clocks
   * differ and commits that were still being written.
   */
  readonly overlap?: number;
  /**
   * Milliseconds after which a sweep looks at all again. Default: never, where what is older than the overlap cannot
   * become due.
   */
  readonly wholeEvery?: number;
}

/** A sweep of one tenant. */
export interface TenantSweep {
  /** Older records need not be looked at; undefined: all have to be. */
  readonly from: Date | undefined;
  /** The sweep is over: nothing that it should find is left. */
  ended(): void;
}

const HOUR_MS = 3_600_000;
/** Tenants that are remembered; of others all is looked at again. */
const MAX_TENANTS = 10_000;

/**
 * Remembers until when the records of a kind were deleted, by tenant, so that a sweep reads what it deletes and not all
 * that earlier ones have left. In this process alone: the first sweep after a start looks at all. Returns the function
 * that begins a sweep of what is older than `before`.
 */
export function createSweptUntil({
  overlap = HOUR_MS,
  wholeEvery = Number.POSITIVE_INFINITY,
}: SweptUntilOptions = {}) {
  const reached = recentMap<{ readonly until: number; readonly whole: number }>(MAX_TENANTS);
  return (tenantId: string, before: Date): TenantSweep => {
    const end = before.getTime();
    const last = reached.get(tenantId);
    const begun = last !== undefined && end - last.whole < wholeEvery ? last : undefined;
    return {
      from: begun && new Date(begun.until - overlap),
      ended: () =>
        reached.set(tenantId, { until: Math.max(end, begun?.until ?? end), whole: begun?.whole ?? end }),
    };
  };
}
