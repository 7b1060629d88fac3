import type { RunPlace } from '../../contract/engine.ts';
import type { RunState } from '../core/run-state.ts';
import type { RunnerCore } from './runner.ts';

/** The longest delay of a notification; the sweeps find what is later. */
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;
/** Of a poll that came before its time (two clocks never agree): one that was so much too early is repeated. */
const EARLY_MS = 5_000;

/** What of one run has to be done later, or by other processes, and how these get to know. */
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
   * Notifies other processes of what they have to know.
   *
   * @param before undefined when it is not known of what they were notified
   */
  notify(before: RunState | undefined, { owner, wakeAt }: RunState, now: number): void {
    const { notifier, lease } = this.#core;
    const owners = [before?.owner ?? null, owner];
    if (owners.some((one) => one !== null && one !== lease.worker)) notifier.changed(this.#place);
    if (wakeAt === null) return;
    const delay = wakeAt - now;
    if (delay <= 0) {
      notifier.poll(this.#place);
      if (owner === null) this.#core.noteBacklog();
    } else if (wakeAt !== before?.wakeAt && delay <= MAX_DELAY_MS) {
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

  /** Of a run that this process owns no other claims steps: those without room wait for a slot here, those that are not ready for their time. */
  watch({ status, owner, steps }: RunState, now: number): void {
    this.cancel();
    const { claimant, timers } = this.#core;
    // Of a paused run nothing can be claimed: to poll it would never end.
    if (status === 'paused' || owner === null || owner !== claimant) return;
    let first = Number.POSITIVE_INFINITY;
    for (const step of steps.values()) {
      if (step.status === 'pending') first = Math.min(first, step.readyAt ?? now);
    }
    if (first <= now) this.#waitForSlot();
    else if (first - now <= MAX_DELAY_MS) this.#cancelTimer = timers.after(first - now, this.#ready);
  }

  /** Nothing is watched any more. */
  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #waitForSlot(): void {
    if (!this.#core.waiting.add(this.#place)) this.#core.noteBacklog();
    this.#core.slotsFreed();
  }
}
