import type { Clock } from '../../base/clock.ts';
import { TransientMap } from '../../base/transient.ts';
import type { JobMetrics } from './job-metrics.ts';
import type { JobStore } from './job-store.ts';

/** A lease from the statement on that asks for it. */
interface Lease {
  readonly ticket: string;
  readonly lost: AbortController;
  /** Until when it holds at least, on the monotonic clock of this process. */
  until: number;
}

interface JobLeasesParts {
  readonly store: Pick<JobStore, 'renew'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Pick<JobMetrics, 'trouble'>;
  /** Milliseconds for which a job belongs to its attempt, unless renewed. */
  readonly length: number;
}

/** Renewals in the time of one lease. */
const RENEWALS = 3;

export type JobLeases = ReturnType<typeof createJobLeases>;

/** The leases of the jobs under way in this process, renewed together. */
export function createJobLeases({ store, clock, metrics, length }: JobLeasesParts) {
  const held = new TransientMap<string, Lease>();
  let isRenewing = false;

  async function renew(): Promise<void> {
    const asked = [...held.values()];
    const until = clock.monotonic() + length;
    const kept = await store.renew(
      asked.map(({ ticket }) => ticket),
      length,
    );
    for (const lease of asked) {
      if (kept.has(lease.ticket)) lease.until = until;
      // An attempt that ended meanwhile has given its lease back.
      else if (held.has(lease.ticket)) lease.lost.abort();
    }
  }

  const timer = setInterval(() => {
    for (const { until, lost } of held.values()) if (clock.monotonic() >= until) lost.abort();
    if (held.size === 0 || isRenewing) return;
    isRenewing = true;
    renew()
      .catch(metrics.trouble)
      .finally(() => {
        isRenewing = false;
      });
  }, length / RENEWALS);
  timer.unref();

  return {
    /** Milliseconds. */
    length,
    /** Before a job is claimed: from here on its time runs. */
    begin(ticket: string): Lease {
      return { ticket, lost: new AbortController(), until: clock.monotonic() + length };
    },
    /** The job was claimed. */
    hold: (lease: Lease) => void held.set(lease.ticket, lease),
    /** Aborts when another attempt has the job, or may have it. */
    lost: (ticket: string): AbortSignal | undefined => held.get(ticket)?.lost.signal,
    end: (ticket: string) => void held.delete(ticket),
    close: () => clearInterval(timer),
  };
}
