import type { RunPlace } from '../../contract/engine.ts';

/** Runs that may wait. What is beyond is left to the sweeps, which find it in the database. */
const MAX_WAITING = 1_024;

/**
 * Runs that could be worked on here, and had no room: each once, first in, first out within a tenant. A tenant that fills the list makes room for
 * those who have fewer runs in it.
 */
export class WaitingList {
  readonly #most: number;
  /** Tenants in the order in which they are served; the runs of each by id. */
  readonly #tenants = new Map<string, Map<string, RunPlace>>();
  #size = 0;

  constructor(most = MAX_WAITING) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Those who wait; who was served last comes last. */
  tenants(): MapIterator<string> {
    return this.#tenants.keys();
  }

  /** False when a run had to be left out: this one, or the newest of the tenant with most. */
  add(place: RunPlace): boolean {
    const { tenantId, runId } = place;
    const runs = this.#tenants.get(tenantId);
    if (runs?.has(runId)) return true;
    const isFull = this.#size >= this.#most;
    if (isFull && !this.#dropNewestOfOthers((runs?.size ?? 0) + 1)) return false;
    if (runs === undefined) this.#tenants.set(tenantId, new Map([[runId, place]]));
    else runs.set(runId, place);
    this.#size += 1;
    return !isFull;
  }

  /** The run of a tenant that waits for the longest time; the tenant is last in turn then. */
  take(tenantId: string): RunPlace | undefined {
    const runs = this.#tenants.get(tenantId);
    const place = runs?.values().next().value;
    if (runs === undefined || place === undefined) return undefined;
    this.#remove(runs, place);
    if (this.#tenants.delete(tenantId) && runs.size > 0) this.#tenants.set(tenantId, runs);
    return place;
  }

  clear(): void {
    this.#tenants.clear();
    this.#size = 0;
  }

  #remove(runs: Map<string, RunPlace>, { tenantId, runId }: RunPlace): void {
    if (!runs.delete(runId)) return;
    this.#size -= 1;
    if (runs.size === 0) this.#tenants.delete(tenantId);
  }

  /** Makes room at the cost of the tenant with most runs, if these are more than `count`. */
  #dropNewestOfOthers(count: number): boolean {
    let most: Map<string, RunPlace> | undefined;
    for (const runs of this.#tenants.values()) {
      if (runs.size > (most?.size ?? count)) most = runs;
    }
    const newest = most && [...most.values()].at(-1);
    if (most === undefined || newest === undefined) return false;
    this.#remove(most, newest);
    return true;
  }
}
