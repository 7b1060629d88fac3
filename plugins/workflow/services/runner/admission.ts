import type { RunPlace } from '../../contract/engine.ts';
import { each } from './each.ts';
import type { LiveRuns } from './live-runs.ts';
import type { RunnerCore } from './runner-core.ts';

/** Runs beyond the free places that are looked at as soon as they are found: timers need no place. */
const AHEAD = 16;
/** Runs beyond these that wait here until places come free, so that not each place asks the database, which sorts all that is due. */
const REMEMBERED = 64;
/** Runs that are read at one time. */
export const LOOKS_AT_ONCE = 8;
/** Looks without a place at one time: they serve timers, which need none. */
const PLACELESS_LOOKS = 4;

/** Which runs are worked on here, in which order (`Places`), and where the next ones come from. */
export class Admission {
  readonly #core: RunnerCore;
  readonly #runs: LiveRuns;
  #placeless = 0;
  #isFilling = false;
  #isPulling = false;
  /** There is more in the database than was remembered here. */
  #hasBacklog = false;

  constructor(core: RunnerCore, runs: LiveRuns) {
    this.#core = core;
    this.#runs = runs;
  }

  /** How many due runs are worth asking for. */
  get appetite(): number {
    return this.#core.places.free + AHEAD + REMEMBERED;
  }

  /** See `Runner.look`. */
  async look(place: RunPlace): Promise<boolean> {
    const { claimant, places, waiting } = this.#core;
    if (claimant === undefined) return false;
    const live = this.#runs.get(place);
    if (live !== undefined) return live.look(0);
    if (places.roomFor(place.tenantId, waiting.tenants()) > 0) {
      places.take(place.tenantId, 1);
      return this.#runs.of(place).look(1);
    }
    if (this.#placeless >= PLACELESS_LOOKS) {
      this.#remember(place);
      return false;
    }
    this.#placeless += 1;
    try {
      return await this.#runs.of(place).look(0);
    } finally {
      this.#placeless -= 1;
    }
  }

  /** Gives free places to those who wait, in fair order; when nobody does, looks for more. */
  placesFreed(): void {
    this.#fill();
    if (!this.#isPulling && this.#isHungry) void this.#pull();
  }

  leftBehind(): void {
    this.#hasBacklog = true;
  }

  /** Looks at runs that are due; a full answer means that there are more. */
  async found(due: readonly RunPlace[], limit: number, signal?: AbortSignal): Promise<void> {
    if (due.length >= limit) this.#hasBacklog = true;
    const { claimant, places } = this.#core;
    const first = places.free + AHEAD;
    if (claimant !== undefined) for (const place of due.slice(first)) this.#remember(place);
    await each(due.slice(0, first), LOOKS_AT_ONCE, signal, (place) => this.look(place));
  }

  #fill(): void {
    const { places, waiting } = this.#core;
    // What is done here gives places back, and comes here again.
    if (this.#isFilling || waiting.size === 0) return;
    this.#isFilling = true;
    while (this.#core.claimant !== undefined) {
      const tenantId = places.next(waiting.tenants());
      const place = tenantId === undefined ? undefined : waiting.take(tenantId);
      if (place === undefined) break;
      places.take(place.tenantId, 1);
      const live = this.#runs.get(place);
      if (live?.isInHand) live.grant();
      else void this.#runs.of(place).look(1);
    }
    this.#isFilling = false;
  }

  /** So that a backlog is worked off as fast as places come free, and not once a sweep. One question at a time. */
  async #pull(): Promise<void> {
    this.#isPulling = true;
    while (this.#isHungry) {
      this.#hasBacklog = false;
      const { counts, store, log } = this.#core;
      const limit = this.appetite;
      const { begun } = counts;
      try {
        await this.found(await store.due(limit), limit);
      } catch (error) {
        log.warn({ err: error }, 'due workflow runs could not be asked for; the next sweep asks again');
        break;
      }
      // What is due and cannot be begun would be found again and again: the sweeps try it.
      if (counts.begun === begun) this.#hasBacklog = false;
    }
    this.#isPulling = false;
  }

  get #isHungry(): boolean {
    const { claimant, places, waiting } = this.#core;
    return this.#hasBacklog && claimant !== undefined && waiting.size === 0 && places.free > 0;
  }

  #remember(place: RunPlace): void {
    if (!this.#core.waiting.add(place)) this.#hasBacklog = true;
  }
}
