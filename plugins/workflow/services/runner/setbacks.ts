import { WorkflowErrors } from '../../contract/engine.ts';
import type { RunState } from '../core/state.ts';
import { doubt, substitute } from './entries.ts';
import type { Entry } from './entry.ts';
import { growing } from './pauses.ts';

/** Conflicts in a row after which whoever asks is told that too many change the run at once. */
const MAX_CONFLICTS = 10;
/** Milliseconds between tries after conflicts: the first one comes at once. */
const CONFLICT_PAUSE = { first: 1, most: 100 };
/** Milliseconds between tries while the database does not answer. */
const FAILURE_PAUSE = { first: 50, most: 5_000 };

/**
 * What went wrong with one run, and what follows from it: how long the next try waits (conflicts and failures back off each by themselves), how careful
 * it is, and who has waited long enough. A transition that goes well ends all of it, but for the doubt about a write: that ends with a read.
 */
export class Setbacks {
  #conflicts = 0;
  #failures = 0;
  #isSuspicious = false;
  #isInDoubt = false;

  /** A write was rejected: what is queued is tried one by one, and claims by themselves, until it is known what cannot be stored. */
  get isSuspicious(): boolean {
    return this.#isSuspicious;
  }

  /** A write may be stored, and nobody was told. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Others were faster too often in a row. */
  get isContended(): boolean {
    return this.#conflicts > MAX_CONFLICTS;
  }

  /** Reads or writes have failed, and nothing went well since. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Somebody else was faster than a commit of these. Who asked and was in too many such commits is told that the run is busy. Returns the pause. */
  conflicted(batch: readonly Entry[]): number {
    this.#conflicts += 1;
    for (const entry of batch) {
      entry.conflicts += 1;
      if (entry.conflicts > MAX_CONFLICTS) entry.asker?.fail(WorkflowErrors.busy());
    }
    if (this.#conflicts === 1) return 0;
    return growing(this.#conflicts - 1, CONFLICT_PAUSE.first, CONFLICT_PAUSE.most);
  }

  /**
   * A write of these failed. What cannot be stored, tried alone, gets something else in its place in the end (`substitute`).
   *
   * @param isSent the database was asked: it may be stored all the same
   * @returns true when something else is to be tried at once
   */
  rejected(batch: readonly Entry[], before: RunState, error: unknown, isSent: boolean): boolean {
    this.#isSuspicious = true;
    if (isSent) this.#isInDoubt = true;
    doubt(batch, before, error);
    const [first] = batch;
    return batch.length === 1 && first !== undefined && substitute(first);
  }

  /** The database did not do what it was asked. Returns the pause. */
  failed(): number {
    this.#failures += 1;
    return growing(this.#failures, FAILURE_PAUSE.first, FAILURE_PAUSE.most);
  }

  /** It is not known whether the run itself is stored. */
  startedInDoubt(): void {
    this.#isInDoubt = true;
  }

  /** A read has said what is stored, and everybody was told. */
  clarified(): void {
    this.#isInDoubt = false;
  }

  /** A transition went well. */
  recovered(): void {
    this.#isSuspicious = false;
    this.#conflicts = 0;
    this.#failures = 0;
  }
}
