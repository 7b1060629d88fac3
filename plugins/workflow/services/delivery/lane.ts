import type { OutboxEntry } from '../ports/outbox.ts';

/** Runs whose events are under way to one sink at one time, in one process. */
const CONCURRENCY = 32;

/** What a lane works with. */
export interface LaneParts {
  /** Takes what is due; rejects when it cannot be known. */
  readonly take: (limit: number) => Promise<readonly OutboxEntry[]>;
  /** Delivers, and tells the outbox. True when it is worth looking for more at once. Never rejects. */
  readonly handle: (entry: OutboxEntry, signal: AbortSignal) => Promise<boolean>;
  /** Told when a look that nobody waits for fails. */
  readonly failed: (error: unknown) => void;
}

/** The way of events to one sink: whatever holds it up holds up nobody else. */
export class Lane {
  readonly #parts: LaneParts;
  readonly #underWay = new Set<Promise<void>>();
  #taking: Promise<void> | undefined;
  /** How often somebody said that there may be something. */
  #asked = 0;

  constructor(parts: LaneParts) {
    this.#parts = parts;
  }

  /** How often somebody said that there may be something: who sees it change has to look again. */
  get asked(): number {
    return this.#asked;
  }

  /** Begins to deliver what is due, and resolves when nothing more is. Calls that meet are one. Rejects when the outbox cannot be looked at. */
  relay(signal: AbortSignal): Promise<void> {
    this.#asked += 1;
    this.#taking ??= this.#takeAll(signal).finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /** Resolves when no delivery is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #takeAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#underWay.size >= CONCURRENCY) await Promise.race(this.#underWay);
      const room = CONCURRENCY - this.#underWay.size;
      const askedBefore = this.#asked;
      const entries = await this.#parts.take(room);
      for (const entry of entries) this.#begin(entry, signal);
      if (entries.length < room && this.#asked === askedBefore) return;
    }
  }

  #begin(entry: OutboxEntry, signal: AbortSignal): void {
    const work = this.#parts.handle(entry, signal).then((hasMore) => {
      this.#underWay.delete(work);
      if (hasMore && !signal.aborted) this.relay(signal).catch(this.#parts.failed);
    });
    this.#underWay.add(work);
  }
}
