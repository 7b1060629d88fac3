import { KernelErrors } from 'agent-gateway';
import type { RunState } from '../core/state.ts';
import type { Effect } from './effect.ts';
import type { Entry } from './entry.ts';
import { endingNotStored } from './step-result.ts';

/** Occurrences that go into one commit at most. */
const MAX_BATCH = 256;
/** Rejected writes of one result after which it is tried whether a failure in its place can be stored. */
const TRIES_BEFORE_SUBSTITUTE = 16;

/** What happened to one run and is not stored yet, in order. */
export class Entries {
  #queue: Entry[] = [];

  get size(): number {
    return this.#queue.length;
  }

  add(entry: Entry): void {
    this.#queue.push(entry);
  }

  /**
   * Takes what goes into one transition of a state. A result with writes of its own goes alone. What may have been done already and must not be
   * done twice is not done: whoever asked is told why it is not known.
   *
   * @param isSingle takes one at most, to find out which of them cannot be stored
   */
  take(state: RunState, isSingle: boolean): Entry[] {
    const most = isSingle ? 1 : MAX_BATCH;
    const batch: Entry[] = [];
    let taken = 0;
    for (const entry of this.#queue) {
      if (batch.length === most || (batch.length > 0 && (entry.also || batch[0]!.also))) break;
      taken += 1;
      if (isTwice(entry, state)) entry.asker?.fail(entry.doubt?.error);
      if (!entry.asker?.isSettled) batch.push(entry);
    }
    this.#queue.splice(0, taken);
    return batch;
  }

  /** They are tried again, before what came later. */
  putBack(batch: readonly Entry[]): void {
    this.#queue = [...batch.filter(({ asker }) => !asker?.isSettled), ...this.#queue];
  }

  /** They are tried again, after all others. */
  putLast(batch: readonly Entry[]): void {
    this.#queue.push(...batch.filter(({ asker }) => !asker?.isSettled));
  }

  /** Whoever asks is told this when his patience ends; who has gone is forgotten. */
  delayed(reason: unknown): void {
    for (const { asker } of this.#queue) {
      if (asker !== undefined) asker.reason = reason;
    }
    this.#queue = this.#queue.filter(({ asker }) => !asker?.isSettled);
  }

  /** The run is not there: nothing can come of anything. Gives the deliveries whose ends were to be stored. */
  tellNotThere(): readonly Effect[] {
    const all = this.#queue.splice(0);
    for (const { asker } of all) asker?.tell(undefined);
    return all.flatMap(({ effect }) => effect ?? []);
  }

  /** Ends them all. Returns how many results are lost to this process. */
  giveUp(): number {
    const given = this.#queue.splice(0);
    for (const { asker } of given) asker?.fail(KernelErrors.draining());
    return given.filter(({ effect }) => effect !== undefined).length;
  }
}

/** Notes that a write with these failed and may be stored. */
export function doubt(batch: readonly Entry[], before: RunState, error: unknown): void {
  for (const entry of batch) {
    entry.rejections += 1;
    entry.doubt ??= { revision: before.revision, error };
    if (entry.asker !== undefined) entry.asker.reason = error;
  }
}

/**
 * A result that was rejected alone again and again may be what the database will not take. Then a failure of the step is tried in its place, in
 * the same breath, and the result again when that is rejected too: while nothing can be stored, nothing is given up.
 *
 * @returns true when something else is to be tried at once
 */
export function substitute(entry: Entry): boolean {
  const { original, effect, occurrence, also } = entry;
  if (original !== undefined) {
    entry.occurrence = original.occurrence;
    entry.also = original.also;
    delete entry.original;
    return false;
  }
  if (effect === undefined || occurrence.type === 'released') return false;
  if (entry.rejections < TRIES_BEFORE_SUBSTITUTE) return false;
  entry.original = { occurrence, also };
  entry.occurrence = endingNotStored(effect.fence);
  entry.also = undefined;
  return true;
}

/** A retry that may be stored, of a run that went on since: its steps may have failed again, and would be tried once more. */
function isTwice({ occurrence, doubt }: Entry, { revision }: RunState): boolean {
  return occurrence.type === 'retry' && doubt !== undefined && doubt.revision !== revision;
}
