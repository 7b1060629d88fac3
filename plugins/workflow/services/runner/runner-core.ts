import type { Facts } from '../core/commands.ts';
import type { FairSlots, WaitingRuns } from './fair-slots.ts';
import type { Pauses } from './pauses.ts';
import type { RunnerParts } from './runner.ts';
import type { WorkerLease } from './worker-lease.ts';

/** What all parts of a runner share. */
export interface RunnerCore extends Omit<RunnerParts, 'newId'> {
  readonly lease: WorkerLease;
  readonly slots: FairSlots;
  readonly waiting: WaitingRuns;
  readonly pauses: Pauses;
  readonly counts: {
    /** Calls under way that count. */
    running: number;
  };
  /** How far the end is. */
  readonly phase: {
    /** No new steps are taken. */
    isClosing: boolean;
    /** Nothing is tried any more. */
    isClosed: boolean;
  };
  /** The name to claim new steps under; undefined when none may be claimed. */
  readonly claimant: string | undefined;
  /** What a transition knows now. */
  facts(): Facts;
  /** The database did not answer for a run: that is one line a minute, however many runs and callers meet it. */
  databaseFailed(fields: object): void;
  /** An attempt of a step failed: one line a minute for each code, with the latest one. */
  stepFailed(code: string, fields: object): void;
  /** Slots may be free: runs that wait for one get it. */
  slotsFreed(): void;
  /** There is due work that is not remembered here: the database has to be queried for it when there is room. */
  noteBacklog(): void;
}
