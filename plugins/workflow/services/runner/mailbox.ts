import { DatabaseErrors, KernelErrors } from 'agent-gateway';
import type { StepResult } from '../../contract/node-types.ts';
import type { Occurrence, Verdict } from '../core/occurrence.ts';
import type { RunState } from '../core/run-state.ts';
import type { Timers } from '../ports/runtime.ts';
import type { Hand } from './in-flight-steps.ts';
import type { RunnerCore } from './runner.ts';
import { type Effect, endingNotStored } from './step-call.ts';

/** Milliseconds that somebody who asks is kept waiting while the database does not answer. */
const PATIENCE_MS = 5_000;

/** Something that happened to a run and is not stored yet. */
export interface Entry {
  occurrence: Occurrence;
  /** Of a result or a release: what it is of. It is kept until it is stored, or too late. */
  readonly effect?: Effect;
  /** Of anything else: who wants to know. It is forgotten when he was told. */
  readonly asker?: Asker<Answer | undefined>;
  also?: StepResult['also'];
  /** When it came, by the clock of `LocalCopy`: what was read or decided before may be older than what its sender knows. */
  readonly arrived: number;
  conflicts: number;
  rejections: number;
  /** It was in a write that may be stored: the revision before, and why it is not known. */
  doubt?: { readonly revision: number; readonly error: unknown };
  /** What it says in truth, while something else is tried in its place. */
  original?: Pick<Entry, 'occurrence' | 'also'>;
}

/** What came of an occurrence that somebody asked for. */
export interface Answer {
  readonly state: RunState;
  readonly verdict: Verdict;
}

/** Somebody who waits for an answer, for a bounded time. */
export class Asker<T> {
  readonly answer: Promise<T>;
  /** Why there is no answer yet: what he is told when his patience ends. */
  reason: unknown;
  readonly #settle: PromiseWithResolvers<T>;
  readonly #cancel: () => void;
  #isSettled = false;

  constructor(timers: Pick<Timers, 'after'>) {
    this.#settle = Promise.withResolvers<T>();
    this.answer = this.#settle.promise;
    this.#cancel = timers.after(PATIENCE_MS, () =>
      this.fail(this.reason ?? DatabaseErrors.unavailable('The database did not answer in time.')),
    );
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  tell(answer: T): void {
    if (this.#isDone()) return;
    this.#settle.resolve(answer);
  }

  fail(error: unknown): void {
    if (this.#isDone()) return;
    this.#settle.reject(error);
  }

  #isDone(): boolean {
    if (this.#isSettled) return true;
    this.#isSettled = true;
    this.#cancel();
    return false;
  }
}

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

/** Those who wait until somebody has looked at one run. They are told together, each once; who comes after that waits for the next look. */
export class Lookers {
  #waiting: ((hasLooked: boolean) => void)[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether what was due could be done. Never rejects. */
  wait(): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  tell(hasLooked: boolean): void {
    if (this.isEmpty) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const told of waiting) told(hasLooked);
  }
}

/**
 * Ends an entry that is stored, or can change nothing any more: whoever asked is told, and a delivery whose end it was leaves the hand. A result that came
 * too late is counted; that a failure was stored in the place of a result is logged, since nobody else will ever know.
 */
export function settle(
  core: Pick<RunnerCore, 'observer' | 'log'>,
  hand: Pick<Hand, 'settled'>,
  entry: Entry,
  answer: Answer,
): void {
  const { asker, effect, occurrence, original } = entry;
  asker?.tell(answer);
  if (effect === undefined) return;
  hand.settled(effect);
  if (answer.verdict === 'unchanged' && occurrence.type !== 'released') core.observer.late();
  if (original === undefined) return;
  const { tenantId, id } = answer.state;
  const fields = { tenant_id: tenantId, run_id: id, step_id: effect.fence.stepId };
  core.log.error(fields, 'the result of a step could not be stored: the step has failed');
}
