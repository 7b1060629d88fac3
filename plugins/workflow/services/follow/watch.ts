import type { Logger } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { RunEventRecord, RunStatus } from '../../contract/runs.ts';
import type { RunPosition, RunQueries } from '../../store/run-queries.ts';
import type { RunState } from '../core/run-state.ts';
import { isTerminal } from '../core/run-status.ts';
import type { Timers } from '../ports/runtime.ts';

/** How often the table is asked, whatever was heard: a run that moves, and one that waits for a user. Milliseconds. */
const POLL_RUNNING_MS = 1_000;
const POLL_RESTING_MS = 5_000;

/** What a follower gets: the events that come next, that there are some in the table, or that there will be none. */
export type News = { readonly records: readonly RunEventRecord[] } | 'read' | 'ended';

/** What a watch works with. */
export interface WatchParts {
  readonly queries: Pick<RunQueries, 'position'>;
  /** Whether the run is running in this process: then it hears by itself when that ends. */
  readonly isRunningHere: (place: RunPlace) => boolean;
  readonly timers: Timers;
  readonly log: Logger;
}

/**
 * One run that is followed in this process. It learns of the run from commits of this process and from messages, and asks the table from
 * time to time, so that followers miss nothing when no message ever comes. Nothing is kept for a follower that does not wait.
 */
export interface Watch {
  /**
   * Resolves with what comes after event `after`; with `ended` when the run is over, gone, or the signal aborts. `wasEmpty`: the table had
   * nothing after it just now.
   */
  next(after: number, wasEmpty: boolean, signal: AbortSignal): Promise<News>;
  /** Resolves when the run is not `running` (with its state where that is at hand), or the signal aborts. */
  settled(signal: AbortSignal): Promise<RunState | undefined>;
  /** This process committed these events; `records` makes them what followers see. */
  committed(state: RunState, records: () => readonly RunEventRecord[]): void;
  /** Somebody says that the run has events up to this number. */
  heard(seq: number): void;
  /** Ends what it does. */
  close(): void;
}

interface Follower {
  readonly after: number;
  readonly notify: (news: News) => void;
}

/** The position of a run that was deleted. */
const GONE: RunPosition = { status: 'cancelled', seq: 0 };

/** Watches one run. */
export function createWatch(place: RunPlace, { queries, isRunningHere, timers, log }: WatchParts): Watch {
  const followers = new Set<Follower>();
  const settlers = new Set<(state: RunState | undefined) => void>();
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

  /** Asks the table; once more when that was wanted in the meantime. */
  function ask(): void {
    askAgain = isAsking;
    if (isAsking || !isAwaited()) return;
    isAsking = true;
    queries.position(place).then(
      (position) => answered(position),
      (error: unknown) => {
        isAsking = false;
        log.debug({ err: error, runId: place.runId }, 'a followed run could not be looked at');
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
    for (const { after, notify } of [...followers]) {
      // What the table says counts, not what was heard: a wrong message must not make followers read again and again.
      if (after < seq) notify('read');
      else if (isTerminal(status)) notify('ended');
    }
    if (status !== 'running') settle(undefined);
    if (askAgain) ask();
    else arm();
  }

  function settle(state: RunState | undefined): void {
    for (const resolve of [...settlers]) resolve(state);
  }

  return {
    next(after, wasEmpty, signal) {
      if (signal.aborted || isClosed) return Promise.resolve('ended');
      if (after < knownSeq && !wasEmpty) return Promise.resolve('read');
      const { promise, resolve } = Promise.withResolvers<News>();
      const stop = () => notify('ended');
      const notify = (news: News) => {
        followers.delete(follower);
        signal.removeEventListener('abort', stop);
        resolve(news);
      };
      const follower: Follower = { after, notify };
      followers.add(follower);
      signal.addEventListener('abort', stop, { once: true });
      // Nothing behind what a follower has: perhaps nothing is to come.
      if (wasEmpty || isTerminal(knownStatus)) ask();
      else arm();
      return promise;
    },

    settled(signal) {
      if (signal.aborted || isClosed) return Promise.resolve(undefined);
      const { promise, resolve } = Promise.withResolvers<RunState | undefined>();
      const stop = () => end(undefined);
      const end = (state: RunState | undefined) => {
        settlers.delete(end);
        signal.removeEventListener('abort', stop);
        resolve(state);
      };
      settlers.add(end);
      signal.addEventListener('abort', stop, { once: true });
      if (isRunningHere(place)) arm();
      else ask();
      return promise;
    },

    committed(state, records) {
      knownSeq = Math.max(knownSeq, state.seq);
      knownStatus = state.status;
      for (const { after, notify } of [...followers]) {
        const isNext = records()[0]?.seq === after + 1;
        if (isNext) notify({ records: records() });
        else if (after < knownSeq) notify('read');
      }
      if (state.status !== 'running') settle(state);
    },

    heard(seq) {
      if (seq <= knownSeq) return;
      knownSeq = seq;
      for (const { after, notify } of [...followers]) if (after < seq) notify('read');
      if (settlers.size > 0) ask();
    },

    close() {
      isClosed = true;
      cancelPoll?.();
      for (const { notify } of [...followers]) notify('ended');
      settle(undefined);
    },
  };
}
