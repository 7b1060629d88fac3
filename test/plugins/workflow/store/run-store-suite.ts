import { dueAndOrphanedRuns } from './suite/due-and-orphaned-runs.ts';
import { guardedCommits } from './suite/guarded-commits.ts';
import { keptRuns } from './suite/kept-runs.ts';
import { starts } from './suite/starts.ts';
import type { Define } from './suite/subject.ts';
import { workerLeases } from './suite/worker-leases.ts';

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
