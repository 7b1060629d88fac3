import { DatabaseErrors, KernelErrors } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { StepResult } from '../../contract/node-types.ts';
import type { Command } from '../core/commands.ts';
import type { RunState, TransitionResult } from '../core/state.ts';
import type { Timers } from '../ports/runtime.ts';
import type { Answer } from './runner.ts';
import type { RunnerCore } from './runner-core.ts';
import type { StepCall } from './step-call.ts';

/** Callers that may ask for changes of one run at the same time. */
const MAX_MESSAGES = 1_000;
/** Messages that go into one commit at most. */
const MAX_BATCH = 256;
/** Milliseconds that a caller waits while the database does not answer. */
const REPLY_TIMEOUT_MS = 5_000;

/** Something that happened to a run and is not stored yet. */
export interface Message {
  command: Command;
  /** Of a result or a release: its call. The message is kept until it is stored, or too late. */
  readonly call?: StepCall;
  /** Of any other message: the caller's answer. The message is dropped once it is answered. */
  readonly reply?: PendingReply<Answer | undefined>;
  also?: StepResult['also'];
  /**
   * When its caller sent it, by the clock of `CachedState`: a state that was read or decided before may be older than
   * what the caller knows.
   */
  readonly arrived: number;
  conflicts: number;
  rejections: number;
  /** Set after a write with this message that may be stored: the revision before it, and the error. */
  doubt?: { readonly revision: number; readonly error: unknown };
  /** The original content, while a substitute is tried. */
  original?: Pick<Message, 'command' | 'also'>;
}

/** What happened to one run and is not stored yet, in order; and the callers that wait until it was polled. */
export class Mailbox {
  readonly #timers: Pick<Timers, 'after'>;
  #queue: Message[] = [];
  #poll: PromiseWithResolvers<boolean> | undefined;

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  /** Whether there is neither a message nor a caller who waits for a poll. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#poll === undefined;
  }

  /** Whether callers wait for a poll. */
  get isPolled(): boolean {
    return this.#poll !== undefined;
  }

  /** The answer of the next poll: whether what was due could be done. Never rejects. */
  poll(): Promise<boolean> {
    this.#poll ??= Promise.withResolvers();
    return this.#poll.promise;
  }

  /** Answers all callers that wait for a poll; later callers wait for the next one. */
  polled(isDone: boolean): void {
    this.#poll?.resolve(isDone);
    this.#poll = undefined;
  }

  /** Queues what a caller asks for. Rejects when too many ask, and after a bounded time without an answer. */
  ask(command: Command, arrived: number): Promise<Answer | undefined> {
    if (this.#queue.length >= MAX_MESSAGES) return Promise.reject(WorkflowErrors.busy());
    const reply = new PendingReply<Answer | undefined>(this.#timers);
    this.#queue.push({ command, reply, arrived, conflicts: 0, rejections: 0 });
    return reply.answer;
  }

  /** Queues how the call of a step ended. */
  ended(call: StepCall, command: Command, also?: StepResult['also']): void {
    this.#queue.push({ command, call, also, arrived: 0, conflicts: 0, rejections: 0 });
  }

  /**
   * Takes what goes into one transition of a state. A result with writes of its own goes alone. A command that may be
   * stored already and must not be applied twice is skipped: its caller gets the error of that write.
   *
   * @param isSingle takes one at most, to find out which of them cannot be stored
   */
  take(state: RunState, isSingle: boolean): Message[] {
    const most = isSingle ? 1 : MAX_BATCH;
    const batch: Message[] = [];
    let taken = 0;
    for (const message of this.#queue) {
      if (batch.length === most || (batch.length > 0 && (message.also || batch[0]!.also))) break;
      taken += 1;
      if (mayBeStored(message, state)) message.reply?.reject(message.doubt?.error);
      if (!message.reply?.isSettled) batch.push(message);
    }
    this.#queue.splice(0, taken);
    return batch;
  }

  /** The batch is tried again, before later messages. */
  putBack(batch: readonly Message[]): void {
    this.#queue = [...batch.filter(isOpen), ...this.#queue];
  }

  /** The batch is tried again, after all other messages. */
  putLast(batch: readonly Message[]): void {
    this.#queue.push(...batch.filter(isOpen));
  }

  /**
   * Callers get this error when their time is over; messages whose time is over are dropped.
   *
   * @param isLong no caller can wait so long: their time is over now
   */
  noteDelay(reason: unknown, isLong = false): void {
    for (const { reply } of this.#queue) {
      if (reply === undefined) continue;
      reply.reason = reason;
      if (isLong) reply.reject(reason);
    }
    this.#queue = this.#queue.filter(isOpen);
  }

  /** The run does not exist: no message can be applied. Returns the calls whose results were to be stored. */
  runIsGone(): readonly StepCall[] {
    this.polled(true);
    const all = this.#queue.splice(0);
    for (const { reply } of all) reply?.resolve(undefined);
    return all.flatMap(({ call }) => call ?? []);
  }

  /** Rejects all callers. Returns how many results this process discards. */
  giveUp(): number {
    this.polled(false);
    const all = this.#queue.splice(0);
    for (const { reply } of all) reply?.reject(KernelErrors.draining());
    return all.filter(({ call }) => call !== undefined).length;
  }
}

const isOpen = ({ reply }: Message): boolean => !reply?.isSettled;

/**
 * True for a `retry` that may be stored, if the run has changed since: its steps may have failed again, and would be
 * retried once more.
 */
function mayBeStored({ command, doubt }: Message, { revision }: RunState): boolean {
  return command.type === 'retry' && doubt !== undefined && doubt.revision !== revision;
}

/**
 * Ends a message that is stored, or can no longer change anything: its caller gets the answer, and its call is no
 * longer in flight. A late result is counted; a failure that was stored in place of a result is logged, since that is
 * recorded nowhere else.
 */
export function settle(
  { metrics, log }: Pick<RunnerCore, 'metrics' | 'log'>,
  steps: { settled(call: StepCall): void },
  { reply, call, command, original }: Message,
  answer: Answer,
): void {
  reply?.resolve(answer);
  if (call === undefined) return;
  steps.settled(call);
  if (answer.verdict === 'unchanged' && command.type !== 'released') metrics.late();
  if (original === undefined) return;
  const { tenantId, id } = answer.state;
  const fields = { tenant_id: tenantId, run_id: id, step_id: call.fence.stepId };
  log.error(fields, 'the result of a step could not be stored: the step has failed');
}

/**
 * The writes of a result go into the commit in which its step is completed, and into no other. Such a result is alone
 * in its batch (`Mailbox.take`).
 */
export function piggybackedWrites(
  [message]: readonly Message[],
  { state, verdicts }: TransitionResult,
): StepResult['also'] {
  if (message?.also === undefined || message.command.type !== 'succeeded' || verdicts[0] !== 'applied')
    return;
  const { stepId } = message.command.fence;
  const step = state.steps.values().find(({ id }) => id === stepId);
  return step?.status === 'completed' ? message.also : undefined;
}

/** The answer for a caller, which comes within a bounded time. */
export class PendingReply<T> {
  readonly answer: Promise<T>;
  /** Why there is no answer yet: what the caller gets when the time is over. */
  reason: unknown;
  readonly #settle: PromiseWithResolvers<T>;
  readonly #cancel: () => void;
  #isSettled = false;

  constructor(timers: Pick<Timers, 'after'>) {
    this.#settle = Promise.withResolvers<T>();
    this.answer = this.#settle.promise;
    this.#cancel = timers.after(REPLY_TIMEOUT_MS, () =>
      this.reject(this.reason ?? DatabaseErrors.unavailable('The database did not answer in time.')),
    );
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Does nothing when it is settled already. */
  resolve(answer: T): void {
    if (this.#isFirst()) this.#settle.resolve(answer);
  }

  /** Does nothing when it is settled already. */
  reject(error: unknown): void {
    if (this.#isFirst()) this.#settle.reject(error);
  }

  #isFirst(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#cancel();
    return true;
  }
}
