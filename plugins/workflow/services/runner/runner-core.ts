import type { Facts } from '../core/commands.ts';
import type { RunnerParts } from '../ports/runner.ts';
import type { RunnerObserver } from '../ports/runner-observer.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { Pauses } from './pauses.ts';
import type { Places } from './places.ts';
import type { WaitingList } from './waiting-list.ts';

/** What everything in a runner shares. */
export interface RunnerCore extends Omit<RunnerParts, 'newId'> {
  readonly observer: RunnerObserver;
  readonly clock: DatabaseClock;
  readonly heartbeat: Heartbeat;
  readonly places: Places;
  readonly waiting: WaitingList;
  readonly pauses: Pauses;
  readonly counts: Counts;
  readonly phase: Phase;
  /** The name to claim new steps under; undefined when none may be claimed. */
  readonly claimant: string | undefined;
  /** What a transition knows now. */
  facts(): Facts;
  /** Places may be free: whoever waits for one gets it. */
  placesFreed(): void;
  /** There is work that nobody here remembers: it has to be looked for when there is room. */
  leftBehind(): void;
}

/** Counters of a runner. */
interface Counts {
  /** Calls under way that count. */
  running: number;
  /** Calls that were begun so far. */
  begun: number;
}

/** How far the end is. */
interface Phase {
  /** No new work is taken. */
  isClosing: boolean;
  /** Nothing is tried any more. */
  isClosed: boolean;
}
