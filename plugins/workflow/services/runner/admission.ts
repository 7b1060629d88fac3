import type { RunPlace } from '../../contract/engine.ts';
import type { LiveRuns } from './live-run.ts';
import type { RunnerCore } from './runner.ts';

/** Runs beyond the free places that are looked at as soon as they are found: timers need no place. */
const AHEAD = 16;
/** Runs beyond these that wait here until places come free, so that not each place asks the database, which sorts all that is due. */
const REMEMBERED = 64;
/** Runs that are read at one time. */
const LOOKS_AT_ONCE = 8;
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
    return this.#core.slots.free + AHEAD + REMEMBERED;
  }

  /** See `Runner.look`. */
  async look(place: RunPlace): Promise<boolean> {
    const { claimant, slots, waiting } = this.#core;
    if (claimant === undefined) return false;
    const live = this.#runs.get(place);
    if (live !== undefined) return live.poll(0);
    if (slots.roomFor(place.tenantId, waiting.tenants()) > 0) {
      slots.take(place.tenantId, 1);
      return this.#runs.of(place).poll(1);
    }
    if (this.#placeless >= PLACELESS_LOOKS) {
      this.#remember(place);
      return false;
    }
    this.#placeless += 1;
    try {
      return await this.#runs.of(place).poll(0);
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
    const { claimant, slots } = this.#core;
    const first = slots.free + AHEAD;
    if (claimant !== undefined) for (const place of due.slice(first)) this.#remember(place);
    await each(due.slice(0, first), LOOKS_AT_ONCE, signal, (place) => this.look(place));
  }

  #fill(): void {
    const { slots, waiting } = this.#core;
    // What is done here gives places back, and comes here again.
    if (this.#isFilling || waiting.size === 0) return;
    this.#isFilling = true;
    while (this.#core.claimant !== undefined) {
      const tenantId = slots.next(waiting.tenants());
      const place = tenantId === undefined ? undefined : waiting.take(tenantId);
      if (place === undefined) break;
      slots.take(place.tenantId, 1);
      const live = this.#runs.get(place);
      if (live?.isInHand) live.grant();
      else void this.#runs.of(place).poll(1);
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
    const { claimant, slots, waiting } = this.#core;
    return this.#hasBacklog && claimant !== undefined && waiting.size === 0 && slots.free > 0;
  }

  #remember(place: RunPlace): void {
    if (!this.#core.waiting.add(place)) this.#hasBacklog = true;
  }
}

/** Orphans that one sweep takes over. */
const ORPHANS = 64;

/** Finds what nobody told of. Rejects when the database does not answer; what cannot be done for one run does not hinder the others. */
export async function sweep(
  core: RunnerCore,
  runs: LiveRuns,
  admission: Admission,
  signal: AbortSignal,
): Promise<void> {
  const isOver = () => signal.aborted || core.phase.isClosing;
  if (isOver()) return;
  await core.clock.renew();
  if (isOver()) return;
  await takeOverOrphans(core, runs, signal);
  if (isOver()) return;
  await compareOwned(core, runs);
  if (isOver()) return;
  const limit = admission.appetite;
  const due = await core.store.due(limit);
  core.observer.found('due', due.length);
  await admission.found(due, limit, signal);
  core.slotsFreed();
}

/** Runs whose worker is gone: their steps are pending again, and we begin what we have room for. */
async function takeOverOrphans(core: RunnerCore, runs: LiveRuns, signal: AbortSignal): Promise<void> {
  const orphans = await core.store.orphans(ORPHANS);
  core.observer.found('orphan', orphans.length);
  await each(orphans, LOOKS_AT_ONCE, signal, async ({ tenantId, runId, owner }) => {
    try {
      await runs.of({ tenantId, runId }).ask({ type: 'worker_lost', worker: owner });
    } catch (error) {
      const fields = { err: error, tenant_id: tenantId, run_id: runId, worker: owner };
      core.log.warn(fields, 'a run of a lost worker could not be taken over; the next sweep tries again');
    }
  });
}

/** What we own, and what we believe to own: where these differ, the run is read, and what is in hand adjusted. */
async function compareOwned(core: RunnerCore, runs: LiveRuns): Promise<void> {
  const { worker } = core.lease;
  if (worker === undefined) return;
  const believed = runs.all().filter(({ isInHand }) => isInHand);
  const revisions = believed.map(({ revision }) => revision);
  const owned = await core.store.owned(worker);
  const isOwned = new Set<unknown>();
  let drifted = 0;
  for (const row of owned) {
    const place: RunPlace = { tenantId: row.tenantId, runId: row.runId };
    const live = runs.get(place);
    isOwned.add(live);
    // Ours may have gone on since the question; what is behind has not seen something.
    if (live?.isInHand && (live.revision ?? 0) >= row.revision) continue;
    drifted += 1;
    void runs.of(place).poll(0);
  }
  for (const [index, run] of believed.entries()) {
    if (isOwned.has(run) || !run.isInHand || run.revision !== revisions[index]) continue;
    drifted += 1;
    run.refresh();
  }
  core.observer.found('drifted', drifted);
}

/** Handles items, `width` at a time, until none is left or the signal aborts. `handle` does not reject. */
async function each<T>(
  items: readonly T[],
  width: number,
  signal: AbortSignal | undefined,
  handle: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) {
      if (signal?.aborted) return;
      await handle(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}
