import { DatabaseErrors } from 'agent-gateway';
import type { StepResult } from '../../contract/node-types.ts';
import type { Command, Verdict } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';
import type { Timers } from '../ports/timers.ts';
import type { Effect } from './effect.ts';

/** Milliseconds that somebody who asks is kept waiting while the database does not answer. */
const PATIENCE_MS = 5_000;

/** Something that happened to a run and is not stored yet. */
export interface Entry {
  occurrence: Command;
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
