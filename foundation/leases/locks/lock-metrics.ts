import type { PluginMetrics } from '../../observability/plugin-metrics.ts';

/** How a wait for a lock ended. */
export type WaitOutcome = 'acquired' | 'timeout' | 'refused' | 'unavailable' | 'aborted';

/** Hears what the locks do. Keys are not told: they are without bound. */
export interface LockObserver {
  /** A wait ended; `tryAcquire` does not wait. */
  waited(outcome: WaitOutcome, seconds: number): void;
  /** One more lock is held here, or one less. */
  held(change: 1 | -1): void;
  /** A lock was lost while it was held. */
  lost(): void;
  /** Whether Redis may grant locks alone; told at each reading, where locks are in the database or in Redis. */
  redisAlone(is: boolean): void;
}

/** For locks that nobody observes. */
export const unobserved: LockObserver = { waited() {}, held() {}, lost() {}, redisAlone() {} };

/** From an uncontended grant in memory to the default wait. */
const WAIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of the locks. */
export function lockMetrics(metrics: PluginMetrics): LockObserver {
  const wait = metrics.histogram({
    name: 'svc_lock_wait_seconds',
    help: 'Seconds that callers waited for a lock, by how the wait ended',
    labels: ['outcome'],
    buckets: WAIT_BUCKETS,
  });
  const held = metrics.gauge({ name: 'svc_locks_held', help: 'Locks that this process holds' });
  const lost = metrics.counter({
    name: 'svc_lock_lost_total',
    help: 'Locks that were lost while they were held, because their lease could not be renewed',
  });
  const alone = metrics.gauge({
    name: 'svc_locks_redis_alone',
    help: '1 while Redis grants locks alone, 0 while the database does (always 0 without Redis)',
  });
  return {
    waited: (outcome, seconds) => wait.observe({ outcome }, seconds),
    held: (change) => held.inc(change),
    lost: () => lost.inc(),
    redisAlone: (is) => alone.set(is ? 1 : 0),
  };
}
