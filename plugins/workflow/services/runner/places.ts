/**
 * Who may carry out how many steps in this process. No place stays free while somebody could use it. While several tenants want places, those who hold
 * fewest come first, and equals take turns: a tenant's next step (even the next of a run that is under way) does not come before the first step of somebody
 * who holds no more. So a tenant's share is at least its part among those who want something, and nobody waits behind another's long chains.
 */
export class Places {
  readonly capacity: number;
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get free(): number {
    return Math.max(0, this.capacity - this.#taken);
  }

  /** Places that are held. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(tenantId: string): number {
    return this.#held.get(tenantId) ?? 0;
  }

  /**
   * How many places a tenant may take now.
   *
   * @param waiting the tenants whose runs wait for a place, this one or not
   */
  roomFor(tenantId: string, waiting: Iterable<string>): number {
    const held = this.heldBy(tenantId);
    let room = this.free;
    for (const other of waiting) {
      if (room === 0) break;
      if (other !== tenantId) room = Math.min(room, Math.max(0, this.heldBy(other) - held));
    }
    return room;
  }

  /** Whose turn it is: of those who wait, in their order, the first of those who hold fewest places. Undefined: nobody waits, or none is free. */
  next(waiting: Iterable<string>): string | undefined {
    if (this.free === 0) return undefined;
    let next: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const tenantId of waiting) {
      const held = this.heldBy(tenantId);
      if (held >= fewest) continue;
      next = tenantId;
      fewest = held;
      if (held === 0) break;
    }
    return next;
  }

  /** Takes as many; whoever calls has asked whether they are there. */
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
