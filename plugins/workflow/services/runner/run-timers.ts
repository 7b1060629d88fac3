import type { RunPlace } from '../../contract/engine.ts';
import type { RunState } from '../core/state.ts';
import type { RunnerCore } from './runner-core.ts';

/** The longest delay of a timer of this process; the sweeps find what is later. */
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;
/**
 * Sweeps before which a timer ends that has a message of its own. Tasks wait for days, and thousands of such messages
 * would fill the queue, which all tenants share: the sweeps find what is later.
 */
const SWEEPS_AHEAD = 12;
/** A poll that came early by at most this much (two clocks never agree) is repeated. */
const EARLY_MS = 5_000;

/** Work on one run that is due later, or for other processes, and their notifications. */
export class RunTimers {
  readonly #core: RunnerCore;
  readonly #place: RunPlace;
  readonly #ready: () => void;
  #cancelTimer: (() => void) | undefined;

  /** @param ready called when a step may be claimed by this process, the owner */
  constructor(core: RunnerCore, place: RunPlace, ready: () => void) {
    this.#core = core;
    this.#place = place;
    this.#ready = ready;
  }

  /** After a commit. @param before undefined when the run is new */
  committed(before: RunState | undefined, state: RunState, now: number): void {
    this.notify(before, state, now);
    this.watch(state, now);
  }

  /**
   * Notifies other processes of changes that concern them.
   *
   * @param before undefined if it is not known what they were notified of
   */
  notify(before: RunState | undefined, { owner, wakeAt }: RunState, now: number): void {
    const { notifier, lease, limits } = this.#core;
    const owners = [before?.owner ?? null, owner];
    if (owners.some((one) => one !== null && one !== lease.worker)) notifier.changed(this.#place);
    if (wakeAt === null) return;
    const delay = wakeAt - now;
    if (delay <= 0) {
      notifier.poll(this.#place);
      if (owner === null) this.#core.noteBacklog();
    } else if (wakeAt !== before?.wakeAt && delay <= limits.sweepIntervalMs * SWEEPS_AHEAD) {
      notifier.poll(this.#place, delay);
    }
  }

  /** After a poll that changed nothing: true when nothing is left to be done now. */
  polled({ owner, wakeAt }: RunState, now: number): boolean {
    const { notifier, claimant } = this.#core;
    if (wakeAt === null) return true;
    const delay = wakeAt - now;
    if (delay > 0) {
      if (delay <= EARLY_MS) notifier.poll(this.#place, delay);
      return true;
    }
    if (owner === null && claimant !== undefined) this.#waitForSlot();
    return false;
  }

  /**
   * No other process claims steps of a run that this one owns: steps without a slot wait for one here, steps that are
   * not ready wait for their time.
   */
  watch({ status, owner, steps }: RunState, now: number): void {
    this.cancel();
    const { claimant, timers } = this.#core;
    // No step of a paused run can be claimed: polling it would never end.
    if (status === 'paused' || owner === null || owner !== claimant) return;
    let first = Number.POSITIVE_INFINITY;
    for (const step of steps.values()) {
      if (step.status === 'pending') first = Math.min(first, step.readyAt ?? now);
    }
    if (first <= now) this.#waitForSlot();
    else if (first - now <= MAX_DELAY_MS) this.#cancelTimer = timers.after(first - now, this.#ready);
  }

  /** Stops watching. */
  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #waitForSlot(): void {
    if (!this.#core.waiting.add(this.#place)) this.#core.noteBacklog();
    this.#core.slotsFreed();
  }
}
