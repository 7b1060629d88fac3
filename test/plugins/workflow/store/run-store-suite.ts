import type { ExecutionContext } from 'ava';
import type { RunPlace } from '../../../../plugins/workflow/contract.ts';
import type { NewEvent } from '../../../../plugins/workflow/services/core/commands.ts';
import type { RunStore } from '../../../../plugins/workflow/services/ports/run-store.ts';
import { dueAndOrphanedRuns } from './suite/due-and-orphaned-runs.ts';
import { guardedCommits } from './suite/guarded-commits.ts';
import { keptRuns } from './suite/kept-runs.ts';
import { starts } from './suite/starts.ts';
import { workerLeases } from './suite/worker-leases.ts';

/** A store under test, empty. */
export interface Subject {
  readonly store: RunStore;
  /** Milliseconds on the store's clock. */
  now(): Promise<number>;
  /** All events of a run as they were stored, oldest first. */
  events(place: RunPlace): Promise<readonly NewEvent[]>;
  /** Lets time pass on the store's clock until the condition holds; rejects when it does not within seconds. */
  eventually(condition: () => Promise<boolean>): Promise<void>;
}

/** Defines one test: a title, and what is done with a store of its own. */
export type Define = (title: string, run: (t: ExecutionContext, subject: Subject) => Promise<void>) => void;

/**
 * What every `RunStore` promises.
 *
 * @example
 * runStoreSuite((title, run) => test(`memory: ${title}`, (t) => run(t, memorySubject())));
 */
export function runStoreSuite(define: Define): void {
  keptRuns(define);
  starts(define);
  guardedCommits(define);
  dueAndOrphanedRuns(define);
  workerLeases(define);
}
