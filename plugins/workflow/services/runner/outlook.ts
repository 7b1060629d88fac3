import type { RunPlace } from '../../contract/engine.ts';
import type { RunState } from '../core/state.ts';
import type { RunnerCore } from './runner-core.ts';

/** The longest delay of a hint; the sweeps find what is later. */
const MAX_HINT_MS = 24 * 60 * 60 * 1000;
/** Of a look that came before its time (two clocks never agree): one that was so much too early is called again. */
const EARLY_MS = 5_000;

/** What of a run has to be done later, or by others, and how these get to know. */
export class Outlook {
  readonly #core: RunnerCore;
  readonly #place: RunPlace;
  /** Called when a step may be claimed by us, the owner. */
  readonly #ready: () => void;
  #cancelTimer: (() => void) | undefined;

  constructor(core: RunnerCore, place: RunPlace, ready: () => void) {
    this.#core = core;
    this.#place = place;
    this.#ready = ready;
  }

  /**
   * After a commit: tells others what they have to know.
   *
   * @param before undefined when it is not known what they were told
   */
  changed(before: RunState | undefined, { owner, wakeAt }: RunState, now: number): void {
    const { wake, heartbeat } = this.#core;
    const owners = [before?.owner ?? null, owner];
    if (owners.some((one) => one !== null && one !== heartbeat.worker)) wake.changed(this.#place);
    if (wakeAt === null) return;
    const delay = wakeAt - now;
    if (delay <= 0) {
      wake.look(this.#place);
      if (owner === null) this.#core.leftBehind();
    } else if (wakeAt !== before?.wakeAt && delay <= MAX_HINT_MS) {
      wake.look(this.#place, delay);
    }
  }

  /** After a look that changed nothing: true when nothing is left to be done now. */
  looked({ owner, wakeAt }: RunState, now: number): boolean {
    const { wake, claimant } = this.#core;
    if (wakeAt === null) return true;
    const delay = wakeAt - now;
    if (delay > 0) {
      if (delay <= EARLY_MS) wake.look(this.#place, delay);
      return true;
    }
    if (owner === null && claimant !== undefined) this.#wait();
    return false;
  }

  /** Of a run that we own nobody else claims steps: those without room wait for a place here, those that are not ready for their time. */
  watch({ status, owner, steps }: RunState, now: number): void {
    this.forget();
    const { claimant, timers } = this.#core;
    // Of a paused run nothing can be claimed: to look for it would never end.
    if (status === 'paused' || owner === null || owner !== claimant) return;
    let first = Number.POSITIVE_INFINITY;
    for (const step of steps.values()) {
      if (step.status === 'pending') first = Math.min(first, step.readyAt ?? now);
    }
    if (first <= now) this.#wait();
    else if (first - now <= MAX_HINT_MS) this.#cancelTimer = timers.after(first - now, this.#ready);
  }

  /** Nothing is watched any more. */
  forget(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #wait(): void {
    if (!this.#core.waiting.add(this.#place)) this.#core.leftBehind();
    this.#core.placesFreed();
  }
}
