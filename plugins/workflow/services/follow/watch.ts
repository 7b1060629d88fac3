import type { Logger } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { RunEventRecord, RunStatus } from '../../contract/runs.ts';
import type { RunPosition, RunQueries } from '../../store/run-queries.ts';
import { isTerminal, type RunState } from '../core/state.ts';
import type { Timers } from '../ports/runtime.ts';
import { toMessage } from '../replica-messages.ts';

/**
 * How often the table is polled regardless of notifications: for a running run, and for one that waits for a user.
 * Milliseconds.
 */
const POLL_RUNNING_MS = 1_000;
const POLL_RESTING_MS = 5_000;

/** What a follower gets: the events that come next, that there are some in the table, or that there will be none. */
export type News = { readonly records: readonly RunEventRecord[] } | 'read' | 'ended';

/** The position of a run that was deleted. */
const GONE: RunPosition = { status: 'cancelled', seq: 0 };

/** What runs are watched with. */
export interface WatchParts {
  readonly queries: Pick<RunQueries, 'position'>;
  /** Whether a run is running in this process: then this process is notified when that ends. */
  readonly isRunningHere: (place: RunPlace) => boolean;
  readonly timers: Timers;
  readonly log: Logger;
}

export type Watch = ReturnType<typeof createWatch>;

/**
 * One run that is followed in this process. Commits of this process and messages notify it, and it polls the table, so
 * that followers miss nothing when no message ever arrives. Nothing is kept for a follower that does not wait.
 */
export function createWatch(place: RunPlace, { queries, isRunningHere, timers, log }: WatchParts) {
  /** The followers that wait for news, with the number of the last event that each has. */
  const followers = new Map<(news: News) => void, number>();
  const settlers = new Map<(state: RunState | undefined) => void, number>();
  let knownSeq = 0;
  let knownStatus: RunStatus = 'running';
  let isAsking = false;
  let askAgain = false;
  let cancelPoll: (() => void) | undefined;
  let isClosed = false;

  const isAwaited = () => !isClosed && (followers.size > 0 || settlers.size > 0);

  function arm(): void {
    if (cancelPoll !== undefined || !isAwaited()) return;
    cancelPoll = timers.after(knownStatus === 'running' ? POLL_RUNNING_MS : POLL_RESTING_MS, () => {
      cancelPoll = undefined;
      ask();
    });
  }

  /** Polls the table; once more if that was requested in the meantime. */
  function ask(): void {
    askAgain = isAsking;
    if (isAsking || !isAwaited()) return;
    isAsking = true;
    queries.position(place).then(
      (position) => answered(position),
      (err: unknown) => {
        isAsking = false;
        log.debug({ err, ...toMessage(place) }, 'a followed run could not be looked at');
        arm();
      },
    );
  }

  function answered(position: RunPosition | undefined): void {
    isAsking = false;
    const { seq, status } = position ?? GONE;
    // A commit of this process may have overtaken the answer.
    if (seq >= knownSeq) knownStatus = status;
    knownSeq = Math.max(knownSeq, seq);
    for (const [notify, after] of [...followers]) {
      // The table counts, not the notification: a wrong message must not make followers read again and again.
      if (after < seq) notify('read');
      else if (isTerminal(status)) notify('ended');
    }
    if (status !== 'running') settle(undefined);
    if (askAgain) ask();
    else arm();
  }

  function settle(state: RunState | undefined): void {
    for (const resolve of [...settlers.keys()]) resolve(state);
  }

  return {
    /**
     * Resolves with what comes after event `after`; with `ended` when the run is over, gone, or the signal aborts.
     * `wasEmpty`: the table had nothing after it just now.
     */
    next(after: number, wasEmpty: boolean, signal: AbortSignal): Promise<News> {
      if (signal.aborted || isClosed) return Promise.resolve('ended');
      if (after < knownSeq && !wasEmpty) return Promise.resolve('read');
      const news = waiting<News>(followers, after, 'ended', signal);
      // Nothing after the follower's last event: perhaps the run has ended.
      if (wasEmpty || isTerminal(knownStatus)) ask();
      else arm();
      return news;
    },

    /** Resolves when the run is not `running` (with its state where that is at hand), or the signal aborts. */
    settled(signal: AbortSignal): Promise<RunState | undefined> {
      if (signal.aborted || isClosed) return Promise.resolve(undefined);
      const state = waiting<RunState | undefined>(settlers, 0, undefined, signal);
      if (isRunningHere(place)) arm();
      else ask();
      return state;
    },

    /** This process committed these events; `records` makes them what followers see. */
    committed(state: RunState, records: () => readonly RunEventRecord[]): void {
      knownSeq = Math.max(knownSeq, state.seq);
      knownStatus = state.status;
      for (const [notify, after] of [...followers]) {
        const isNext = records()[0]?.seq === after + 1;
        if (isNext) notify({ records: records() });
        else if (after < knownSeq) notify('read');
      }
      if (state.status !== 'running') settle(state);
    },

    /** A notification says that the run has events up to this number. */
    heard(seq: number): void {
      if (seq <= knownSeq) return;
      knownSeq = seq;
      for (const [notify, after] of [...followers]) if (after < seq) notify('read');
      if (settlers.size > 0) ask();
    },

    /** Ends what it does. */
    close(): void {
      isClosed = true;
      cancelPoll?.();
      for (const notify of [...followers.keys()]) notify('ended');
      settle(undefined);
    },
  };
}

/**
 * Adds a waiter to `others`; resolves with the value that the waiter is called with, or with `aborted` when the signal
 * aborts.
 */
function waiting<T>(
  others: Map<(value: T) => void, number>,
  after: number,
  aborted: T,
  signal: AbortSignal,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const stop = () => end(aborted);
  const end = (value: T) => {
    others.delete(end);
    signal.removeEventListener('abort', stop);
    resolve(value);
  };
  others.set(end, after);
  signal.addEventListener('abort', stop, { once: true });
  return promise;
}
