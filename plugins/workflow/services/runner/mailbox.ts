import { DatabaseErrors, KernelErrors } from 'agent-gateway';
import type { StepResult } from '../../contract/node-types.ts';
import type { Occurrence, Verdict } from '../core/occurrence.ts';
import type { RunState } from '../core/run-state.ts';
import type { Timers } from '../ports/runtime.ts';
import type { InFlightSteps } from './in-flight-steps.ts';
import type { RunnerCore } from './runner.ts';
import { endingNotStored, type StepCall } from './step-call.ts';

/** Milliseconds that somebody who asks is kept waiting while the database does not answer. */
const PATIENCE_MS = 5_000;

/** Something that happened to a run and is not stored yet. */
export interface Message {
  command: Occurrence;
  /** Of a result or a release: what it is of. It is kept until it is stored, or too late. */
  readonly call?: StepCall;
  /** Of anything else: who wants to know. It is forgotten when he was told. */
  readonly reply?: PendingReply<Answer | undefined>;
  also?: StepResult['also'];
  /** When it came, by the clock of `LocalCopy`: what was read or decided before may be older than what its sender knows. */
  readonly arrived: number;
  conflicts: number;
  rejections: number;
  /** It was in a write that may be stored: the revision before, and why it is not known. */
  doubt?: { readonly revision: number; readonly error: unknown };
  /** What it says in truth, while something else is tried in its place. */
  original?: Pick<Message, 'occurrence' | 'also'>;
}

/** What came of an occurrence that somebody asked for. */
export interface Answer {
  readonly state: RunState;
  readonly verdict: Verdict;
}

/** Somebody who waits for an answer, for a bounded time. */
export class PendingReply<T> {
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
      this.reject(this.reason ?? DatabaseErrors.unavailable('The database did not answer in time.')),
    );
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(answer: T): void {
    if (this.#isDone()) return;
    this.#settle.resolve(answer);
  }

  reject(error: unknown): void {
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
export class Mailbox {
  #queue: Message[] = [];

  get size(): number {
    return this.#queue.length;
  }

  add(entry: Message): void {
    this.#queue.push(entry);
  }

  /**
   * Takes what goes into one transition of a state. A result with writes of its own goes alone. What may have been done already and must not be
   * done twice is not done: whoever asked is told why it is not known.
   *
   * @param isSingle takes one at most, to find out which of them cannot be stored
   */
  take(state: RunState, isSingle: boolean): Message[] {
    const most = isSingle ? 1 : MAX_BATCH;
    const batch: Message[] = [];
    let taken = 0;
    for (const entry of this.#queue) {
      if (batch.length === most || (batch.length > 0 && (entry.also || batch[0]!.also))) break;
      taken += 1;
      if (isTwice(entry, state)) entry.reply?.reject(entry.doubt?.error);
      if (!entry.reply?.isSettled) batch.push(entry);
    }
    this.#queue.splice(0, taken);
    return batch;
  }

  /** They are tried again, before what came later. */
  putBack(batch: readonly Message[]): void {
    this.#queue = [...batch.filter(({ reply }) => !reply?.isSettled), ...this.#queue];
  }

  /** They are tried again, after all others. */
  putLast(batch: readonly Message[]): void {
    this.#queue.push(...batch.filter(({ reply }) => !reply?.isSettled));
  }

  /** Whoever asks is told this when his patience ends; who has gone is forgotten. */
  delayed(reason: unknown): void {
    for (const { reply } of this.#queue) {
      if (reply !== undefined) reply.reason = reason;
    }
    this.#queue = this.#queue.filter(({ reply }) => !reply?.isSettled);
  }

  /** The run is not there: nothing can come of anything. Gives the deliveries whose ends were to be stored. */
  tellNotThere(): readonly StepCall[] {
    const all = this.#queue.splice(0);
    for (const { reply } of all) reply?.resolve(undefined);
    return all.flatMap(({ call }) => call ?? []);
  }

  /** Ends them all. Returns how many results are lost to this process. */
  giveUp(): number {
    const given = this.#queue.splice(0);
    for (const { reply } of given) reply?.reject(KernelErrors.draining());
    return given.filter(({ call }) => call !== undefined).length;
  }
}

/** Notes that a write with these failed and may be stored. */
export function doubt(batch: readonly Message[], before: RunState, error: unknown): void {
  for (const entry of batch) {
    entry.rejections += 1;
    entry.doubt ??= { revision: before.revision, error };
    if (entry.reply !== undefined) entry.reply.reason = error;
  }
}

/**
 * A result that was rejected alone again and again may be what the database will not take. Then a failure of the step is tried in its place, in
 * the same breath, and the result again when that is rejected too: while nothing can be stored, nothing is given up.
 *
 * @returns true when something else is to be tried at once
 */
export function substitute(entry: Message): boolean {
  const { original, call, command, also } = entry;
  if (original !== undefined) {
    entry.command = original.command;
    entry.also = original.also;
    delete entry.original;
    return false;
  }
  if (call === undefined || command.type === 'released') return false;
  if (entry.rejections < TRIES_BEFORE_SUBSTITUTE) return false;
  entry.original = { command, also };
  entry.command = endingNotStored(call.fence);
  entry.also = undefined;
  return true;
}

/** A retry that may be stored, of a run that went on since: its steps may have failed again, and would be tried once more. */
function isTwice({ command, doubt }: Message, { revision }: RunState): boolean {
  return command.type === 'retry' && doubt !== undefined && doubt.revision !== revision;
}

/** Those who wait until somebody has looked at one run. They are told together, each once; who comes after that waits for the next look. */
export class PollWaiters {
  #waiting: ((hasLooked: boolean) => void)[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether what was due could be done. Never rejects. */
  wait(): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  resolve(hasLooked: boolean): void {
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
  hand: Pick<InFlightSteps, 'settled'>,
  entry: Message,
  answer: Answer,
): void {
  const { reply, call, command, original } = entry;
  reply?.resolve(answer);
  if (call === undefined) return;
  hand.settled(call);
  if (answer.verdict === 'unchanged' && command.type !== 'released') core.observer.late();
  if (original === undefined) return;
  const { tenantId, id } = answer.state;
  const fields = { tenant_id: tenantId, run_id: id, step_id: call.fence.stepId };
  core.log.error(fields, 'the result of a step could not be stored: the step has failed');
}
