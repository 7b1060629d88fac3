import { TransientMap } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';

/**
 * How many steps each tenant may carry out in this process. No slot stays free while a run could use it. While several
 * tenants want slots, those that hold the fewest come first, and equals take turns: a tenant's next step (even the next
 * of a run in progress) does not come before the first step of a tenant that holds no more slots. So a tenant gets at
 * least an equal share among the tenants that want slots, and no tenant waits behind another's long chains.
 */
export class FairSlots {
  readonly #capacity: number;
  readonly #waiting: { tenants(): Iterable<string> };
  readonly #held = new TransientMap<string, number>();
  #taken = 0;

  /** @param waiting whose runs wait for a slot, in the order in which they are served */
  constructor(capacity: number, waiting: { tenants(): Iterable<string> }) {
    this.#capacity = capacity;
    this.#waiting = waiting;
  }

  get free(): number {
    return Math.max(0, this.#capacity - this.#taken);
  }

  /** Slots that are held. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(tenantId: string): number {
    return this.#held.get(tenantId) ?? 0;
  }

  /** How many slots a tenant may take now, whether its runs wait or not. */
  roomFor(tenantId: string): number {
    const held = this.heldBy(tenantId);
    let room = this.free;
    for (const other of this.#waiting.tenants()) {
      if (room === 0) break;
      if (other !== tenantId) room = Math.min(room, Math.max(0, this.heldBy(other) - held));
    }
    return room;
  }

  /**
   * The next tenant: of the waiting ones, in their order, the first of those that hold the fewest slots. Undefined:
   * none waits, or no slot is free.
   */
  next(): string | undefined {
    if (this.free === 0) return undefined;
    let next: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const tenantId of this.#waiting.tenants()) {
      const held = this.heldBy(tenantId);
      if (held >= fewest) continue;
      next = tenantId;
      fewest = held;
      if (held === 0) break;
    }
    return next;
  }

  /** Takes `count` slots; the caller has checked that they are free. */
  take(tenantId: string, count: number): void {
    if (count === 0) return;
    this.#held.set(tenantId, this.heldBy(tenantId) + count);
    this.#taken += count;
  }

  giveBack(tenantId: string, count: number): void {
    if (count === 0) return;
    const left = this.heldBy(tenantId) - count;
    if (left > 0) this.#held.set(tenantId, left);
    else this.#held.delete(tenantId);
    this.#taken -= count;
  }
}

/** Runs that may wait. Further ones are left to the sweeps, which find them in the database. */
const MAX_WAITING = 1_024;

/**
 * Runs that could be worked on here, but for which there was no slot: each once, first in, first out within a tenant. A
 * tenant that fills the list loses places to tenants with fewer runs in it.
 */
export class WaitingRuns {
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

  /** The waiting tenants; the one that was served last comes last. */
  tenants(): MapIterator<string> {
    return this.#tenants.keys();
  }

  /** False when a run had to be left out: this one, or the newest of the tenant with the most runs. */
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

  /** The run of a tenant that has waited longest; the tenant then goes to the end of the line. */
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
