import { backoffDelay, isDatabaseFull, isDatabaseUnavailable } from 'agent-gateway';
import { type RunPlace, WorkflowErrors } from '../../contract/engine.ts';
import type { RunState } from '../core/state.ts';
import type { CachedState } from './cached-state.ts';
import type { ReservedSlots } from './in-flight-steps.ts';
import type { Mailbox, Message } from './mailbox.ts';
import type { RunnerCore } from './runner-core.ts';
import { endingNotStored } from './step-call.ts';

/** Conflicts in a row after which a caller gets `workflow.busy`. */
const MAX_CONFLICTS = 10;
/** Milliseconds between tries after conflicts: the first one comes at once. */
const CONFLICT_PAUSE = { first: 1, most: 100 };
/** Milliseconds between tries while the database does not answer. */
const FAILURE_PAUSE = { first: 50, most: 5_000 };
/** Rejected writes of one result after which a failure is written in its place. */
const TRIES_BEFORE_SUBSTITUTE = 16;
/** What the log says of a run whose read or write failed. */
export const RETRIED = 'a run could not be read or stored; it is tried again';

/** The parts of a run that a failed write resets. */
interface RetryParts {
  readonly mailbox: Mailbox;
  readonly slots: Pick<ReservedSlots, 'giveBackKept' | 'giveBackGranted'>;
  readonly cache: Pick<CachedState, 'invalidate'>;
}

/**
 * Decides what follows when a write or a read of one run fails: how long the next try waits (conflicts and failures
 * back off independently), whether messages are tried one by one, and which callers have waited long enough. A
 * successful transition resets all of it, except for the doubt about a write, which a read resolves.
 */
export class RetryState {
  readonly #core: Pick<RunnerCore, 'metrics' | 'pauses' | 'log' | 'databaseFailed'>;
  readonly #place: RunPlace;
  readonly #parts: RetryParts;
  #conflicts = 0;
  #failures = 0;
  #isSuspicious = false;
  #isInDoubt = false;

  constructor(
    core: Pick<RunnerCore, 'metrics' | 'pauses' | 'log' | 'databaseFailed'>,
    place: RunPlace,
    parts: RetryParts,
  ) {
    this.#core = core;
    this.#place = place;
    this.#parts = parts;
  }

  /**
   * A write was rejected: messages are tried one by one, and claims separately, until it is known what cannot be
   * stored.
   */
  get isSuspicious(): boolean {
    return this.#isSuspicious;
  }

  /** A write may be stored, and its outcome was not reported yet. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /**
   * Another process committed before this batch. A caller that had too many such conflicts gets `workflow.busy`. Waits
   * before the next try.
   */
  async conflicted(batch: readonly Message[]): Promise<void> {
    const { mailbox, slots, cache } = this.#parts;
    this.#core.metrics.committed('conflict');
    this.#conflicts += 1;
    slots.giveBackKept();
    cache.invalidate();
    for (const message of batch) {
      message.conflicts += 1;
      if (message.conflicts > MAX_CONFLICTS) message.reply?.reject(WorkflowErrors.busy());
    }
    mailbox.putBack(batch);
    if (this.#conflicts > MAX_CONFLICTS) mailbox.polled(false);
    if (this.#conflicts === 1) return;
    await this.#core.pauses.pause(backoffDelay(this.#conflicts - 1, CONFLICT_PAUSE));
  }

  /**
   * The write of a batch failed: the next read shows whether it is stored. A message that repeatedly cannot be stored,
   * even alone, is replaced in the end (`substitute`).
   *
   * @param isSent the write was sent to the database, and may be stored nevertheless
   * @returns true when something else is to be tried at once
   */
  rejected(batch: readonly Message[], before: RunState, error: unknown, isSent: boolean): boolean {
    const { mailbox, cache } = this.#parts;
    cache.invalidate();
    if (isSent) this.#core.metrics.committed('unknown');
    this.#isSuspicious = true;
    if (isSent) this.#isInDoubt = true;
    for (const message of batch) {
      message.rejections += 1;
      message.doubt ??= { revision: before.revision, error };
      if (message.reply !== undefined) message.reply.reason = error;
    }
    const [first] = batch;
    const isAlone = batch.length === 1 && first !== undefined;
    const isSubstituted = isAlone && substitute(first);
    // A message that fails alone may be the one that cannot be stored: the others are tried first.
    if (isAlone && !isSubstituted) mailbox.putLast(batch);
    else mailbox.putBack(batch);
    return isSubstituted;
  }

  /**
   * A read or write failed: waits before the next try, while there is something to try. Polls are answered without
   * waiting.
   */
  async failed(error: unknown, hasWork: () => boolean): Promise<void> {
    const { mailbox, slots } = this.#parts;
    const { tenantId, runId } = this.#place;
    const fields = { err: error, tenant_id: tenantId, run_id: runId };
    if (isDatabaseUnavailable(error)) this.#core.databaseFailed(fields);
    else if (this.#failures === 0) this.#core.log.warn(fields, RETRIED);
    this.#failures += 1;
    slots.giveBackGranted();
    mailbox.polled(false);
    mailbox.noteDelay(error, isDatabaseFull(error));
    if (hasWork()) await this.#core.pauses.pause(backoffDelay(this.#failures, FAILURE_PAUSE));
    mailbox.noteDelay(error);
  }

  /** It is not known whether the run itself is stored. */
  createdInDoubt(): void {
    this.#isInDoubt = true;
  }

  /** A read has shown what is stored, and that was reported. */
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

/**
 * The database may be unable to store a result that was rejected alone again and again. Then a failure of the step is
 * tried in its place, at once, and the result again when that is rejected too: while the database stores nothing, no
 * result is discarded.
 *
 * @returns true when something else is to be tried at once
 */
function substitute(message: Message): boolean {
  const { original, call, command, also } = message;
  if (original !== undefined) {
    message.command = original.command;
    message.also = original.also;
    delete message.original;
    return false;
  }
  if (call === undefined || command.type === 'released') return false;
  if (message.rejections < TRIES_BEFORE_SUBSTITUTE) return false;
  message.original = { command, also };
  message.command = endingNotStored(call.fence);
  message.also = undefined;
  return true;
}
