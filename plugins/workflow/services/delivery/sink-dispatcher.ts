import { type Clock, recentMap, TransientMap } from 'agent-gateway';
import type { OutboxEntry, Taken } from '../../store/outbox.ts';

/** Runs whose events are under way to one sink at one time, in one process. */
const CONCURRENCY = 32;

/** What a dispatcher works with. */
interface SinkDispatcherParts {
  /** Takes what is due, for each tenant no more than it has room for; rejects when the outbox does not answer. */
  readonly take: (limit: number, room: (tenantId: string) => number) => Promise<Taken>;
  /** How many runs of a tenant may be under way at one time, now. */
  readonly share: (tenantId: string) => number;
  /** Delivers, and records the result in the outbox. True when there may be more at once. Never rejects. */
  readonly handle: (entry: OutboxEntry, signal: AbortSignal) => Promise<boolean>;
  /** Reports the failure of a look that no caller waits for. */
  readonly failed: (error: unknown) => void;
}

/**
 * Sends the events of one sink. A slow sink delays no other sink, and a tenant whose receiver hangs delays no other
 * tenant.
 */
export class SinkDispatcher {
  readonly #parts: SinkDispatcherParts;
  /** Deliveries, with the tenant of each. */
  readonly #underWay = new TransientMap<Promise<void>, string>();
  /** Tenants for which the last look may have left entries, because they had no more room. */
  readonly #held = new Set<string>();
  /** Whether the last look had no place for anything. */
  #isFull = false;
  #taking: Promise<void> | undefined;
  /** How often `dispatch` was called. */
  #asked = 0;

  constructor(parts: SinkDispatcherParts) {
    this.#parts = parts;
  }

  /**
   * Begins to deliver what is due, and resolves when nothing more is due, or nothing more can be taken before a
   * delivery ends; the end of that delivery then starts the next look. Simultaneous calls share one run. Rejects when
   * the outbox does not answer.
   */
  dispatch(signal: AbortSignal): Promise<void> {
    this.#asked += 1;
    this.#taking ??= this.#takeAll(signal);
    return this.#taking;
  }

  /** Resolves when neither a look nor a delivery is under way. */
  async idle(): Promise<void> {
    while (this.#taking !== undefined || this.#underWay.size > 0) {
      await Promise.allSettled([this.#taking, ...this.#underWay.keys()]);
    }
  }

  async #takeAll(signal: AbortSignal): Promise<void> {
    // The caller holds the promise first: it is not over before.
    await Promise.resolve();
    try {
      while (!signal.aborted) {
        const places = CONCURRENCY - this.#underWay.size;
        this.#isFull = places === 0;
        if (this.#isFull) return;
        const askedBefore = this.#asked;
        const { count, hasMore } = await this.#look(places, signal);
        // Nothing is waited for between this and the end: a later call finds that no look is under way.
        if (count < places && !hasMore && this.#asked === askedBefore) return;
      }
    } finally {
      this.#taking = undefined;
    }
  }

  async #look(places: number, signal: AbortSignal) {
    this.#held.clear();
    const rooms = new Map<string, number>();
    const { entries, hasMore } = await this.#parts.take(places, (tenantId) => {
      const room = Math.max(0, this.#parts.share(tenantId) - this.#countOf(tenantId));
      rooms.set(tenantId, room);
      // At once: a delivery that makes room may end before the look does.
      this.#held.add(tenantId);
      return room;
    });
    for (const entry of entries) this.#begin(entry, signal);
    const taken = Map.groupBy(entries, ({ tenantId }) => tenantId);
    for (const [tenantId, room] of rooms) {
      if ((taken.get(tenantId)?.length ?? 0) < room) this.#held.delete(tenantId);
    }
    return { count: entries.length, hasMore };
  }

  #countOf(tenantId: string): number {
    let count = 0;
    for (const tenant of this.#underWay.values()) if (tenant === tenantId) count += 1;
    return count;
  }

  #begin(entry: OutboxEntry, signal: AbortSignal): void {
    const work = this.#parts.handle(entry, signal).then((hasMore) => {
      this.#underWay.delete(work);
      if (signal.aborted) return;
      if (hasMore || this.#isFull || this.#held.has(entry.tenantId))
        this.dispatch(signal).catch(this.#parts.failed);
    });
    this.#underWay.set(work, entry.tenantId);
  }
}

/** Milliseconds for which a sink that took too long is left alone, for one tenant. */
const REST_MS = 30_000;
const MAX_RESTING = 10_000;
/** Deliveries to one sink for one tenant that are under way at one time, in one process. */
const SHARE = 4;

export type SinkCooldown = ReturnType<typeof createSinkCooldown>;

/** For which tenants a sink gets no deliveries for a while, because it did not end in time for them. */
export function createSinkCooldown(clock: Pick<Clock, 'monotonic'>) {
  // Monotonic time. An evicted tenant is tried like any other.
  const until = recentMap<number>(MAX_RESTING);
  /** Milliseconds that are left; 0 when there is none. */
  const leftMs = (tenantId: string) => Math.max(0, (until.get(tenantId) ?? 0) - clock.monotonic());
  return {
    begin: (tenantId: string) => void until.set(tenantId, clock.monotonic() + REST_MS),
    /** The sink has answered for the tenant, which gets its full share again. */
    end: (tenantId: string) => void until.delete(tenantId),
    leftMs,
    /**
     * Deliveries for the tenant that may be under way at one time: none in a rest, one to try after it, until the sink
     * has answered; else four.
     */
    share(tenantId: string): number {
      if (!until.has(tenantId)) return SHARE;
      return leftMs(tenantId) > 0 ? 0 : 1;
    },
  };
}
