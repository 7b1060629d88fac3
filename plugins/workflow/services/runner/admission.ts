import { forEachLimited } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { LiveRun } from './live-run.ts';
import type { LiveRuns } from './live-runs.ts';
import type { RunnerCore } from './runner-core.ts';

/** Runs beyond the free slots that are polled as soon as they are found: timers need no slot. */
const AHEAD = 16;
/**
 * Runs beyond these that wait here until slots come free, so that not each slot asks the database, which sorts all that
 * is due.
 */
const REMEMBERED = 64;
/** Runs that are read at one time. */
const POLLS_AT_ONCE = 8;
/** Polls without a slot at one time: they serve timers, which need none. */
const SLOTLESS_POLLS = 4;
/** Runs of dead workers that one sweep takes over. */
const ORPHANS = 64;

/**
 * Which runs are worked on here, in which order (`FairSlots`), and where the next ones come from: a message of another
 * replica (`poll`), a free slot (`fill`), or a sweep over the tables.
 */
export class Admission {
  readonly #core: RunnerCore;
  readonly #runs: LiveRuns;
  #slotlessPolls = 0;
  #isFilling = false;
  #isPulling = false;
  /** There is more in the database than is remembered here. */
  #hasBacklog = false;

  constructor(core: RunnerCore, runs: LiveRuns) {
    this.#core = core;
    this.#runs = runs;
  }

  /** See `Runner.poll`. */
  async poll(place: RunPlace): Promise<boolean> {
    const { claimant, slots } = this.#core;
    if (claimant === undefined) return false;
    const live = this.#runs.get(place);
    if (live !== undefined) return live.poll(0);
    if (slots.roomFor(place.tenantId) > 0) {
      slots.take(place.tenantId, 1);
      return this.#runs.of(place).poll(1);
    }
    if (this.#slotlessPolls >= SLOTLESS_POLLS) {
      this.#remember(place);
      return false;
    }
    this.#slotlessPolls += 1;
    try {
      return await this.#runs.of(place).poll(0);
    } finally {
      this.#slotlessPolls -= 1;
    }
  }

  /** Gives free slots to the runs that wait, in fair order; when none waits, asks the database for more. */
  fill(): void {
    const { slots, waiting } = this.#core;
    // Polls give slots back, which calls this method again.
    if (!this.#isFilling && waiting.size > 0) {
      this.#isFilling = true;
      while (this.#core.claimant !== undefined) {
        const tenantId = slots.next();
        const place = tenantId === undefined ? undefined : waiting.take(tenantId);
        if (place === undefined) break;
        slots.take(place.tenantId, 1);
        const live = this.#runs.get(place);
        if (live?.hasSteps) live.grant();
        else void this.#runs.of(place).poll(1);
      }
      this.#isFilling = false;
    }
    if (!this.#isPulling && this.#isHungry) void this.#pull();
  }

  noteBacklog(): void {
    this.#hasBacklog = true;
  }

  /** See `Runner.sweep`. Rejects when the database does not answer; a run that fails does not stop the others. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { phase, store, metrics } = this.#core;
    const isOver = () => signal.aborted || phase.isClosing;
    if (isOver()) return;
    await this.#takeOverOrphans(signal);
    if (isOver()) return;
    await this.#compareOwned();
    if (isOver()) return;
    const limit = this.#appetite;
    const due = await store.due(limit);
    metrics.found('due', due.length);
    await this.#pollDue(due, limit, signal);
    this.fill();
  }

  /**
   * Takes over runs whose worker is dead: their steps become pending again, and this process begins those that it has
   * room for.
   */
  async #takeOverOrphans(signal: AbortSignal): Promise<void> {
    const { store, metrics, log } = this.#core;
    const orphans = await store.orphans(ORPHANS);
    metrics.found('orphan', orphans.length);
    const takeOver = async ({ tenantId, runId, owner: worker }: (typeof orphans)[number]) => {
      try {
        await this.#runs.of({ tenantId, runId }).ask({ type: 'worker_lost', worker });
      } catch (err) {
        const fields = { err, tenant_id: tenantId, run_id: runId, worker };
        log.warn(fields, 'a run of a lost worker could not be taken over; the next sweep tries again');
      }
    };
    await forEachLimited(orphans, POLLS_AT_ONCE, takeOver, signal);
  }

  /**
   * Compares the runs that this process owns by the tables with those that it carries out: where these differ, the run
   * is read, and its steps are adjusted.
   */
  async #compareOwned(): Promise<void> {
    const { lease, store, metrics } = this.#core;
    const { worker } = lease;
    if (worker === undefined) return;
    const believed = this.#runs.all().filter(({ hasSteps }) => hasSteps);
    const revisions = believed.map(({ revision }) => revision);
    const owned = await store.owned(worker);
    const isOwned = new Set<LiveRun | undefined>();
    let drifted = 0;
    for (const { tenantId, runId, revision } of owned) {
      const place = { tenantId, runId };
      const live = this.#runs.get(place);
      isOwned.add(live);
      // The run may have changed here since the query; a run with an older revision here has missed a change.
      if (live?.hasSteps && (live.revision ?? 0) >= revision) continue;
      drifted += 1;
      void this.#runs.of(place).poll(0);
    }
    for (const [index, run] of believed.entries()) {
      if (isOwned.has(run) || !run.hasSteps || run.revision !== revisions[index]) continue;
      drifted += 1;
      run.refresh();
    }
    metrics.found('drifted', drifted);
  }

  /** How many due runs are worth asking for. */
  get #appetite(): number {
    return this.#core.slots.free + AHEAD + REMEMBERED;
  }

  /** Works off a backlog as fast as slots come free, instead of once per sweep. One query at a time. */
  async #pull(): Promise<void> {
    this.#isPulling = true;
    while (this.#isHungry) {
      this.#hasBacklog = false;
      const { store, log } = this.#core;
      const limit = this.#appetite;
      let isAnyDone: boolean;
      try {
        isAnyDone = await this.#pollDue(await store.due(limit), limit);
      } catch (error) {
        log.warn({ err: error }, 'due workflow runs could not be asked for; the next sweep asks again');
        break;
      }
      // Due runs with which nothing can be done would be found again and again: they are left to the sweeps.
      if (!isAnyDone) this.#hasBacklog = false;
    }
    this.#isPulling = false;
  }

  get #isHungry(): boolean {
    const { claimant, slots, waiting } = this.#core;
    return this.#hasBacklog && claimant !== undefined && waiting.size === 0 && slots.free > 0;
  }

  /** Polls runs that are due; a full answer means that there are more. True when one of them is due no more. */
  async #pollDue(due: readonly RunPlace[], limit: number, signal?: AbortSignal): Promise<boolean> {
    if (due.length >= limit) this.#hasBacklog = true;
    const { claimant, slots } = this.#core;
    const first = slots.free + AHEAD;
    if (claimant !== undefined) for (const place of due.slice(first)) this.#remember(place);
    let isAnyDone = false;
    const poll = async (place: RunPlace) => {
      if (await this.poll(place)) isAnyDone = true;
    };
    await forEachLimited(due.slice(0, first), POLLS_AT_ONCE, poll, signal);
    return isAnyDone;
  }

  #remember(place: RunPlace): void {
    if (!this.#core.waiting.add(place)) this.#hasBacklog = true;
  }
}
