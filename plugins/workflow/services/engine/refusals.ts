import type { GatewayError } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { StepStatus } from '../../contract/runs.ts';
import type { Verdict } from '../core/occurrence.ts';
import type { RunState } from '../core/run-state.ts';

/** What somebody asked of a run, as far as a refusal tells of it. */
export interface Asked {
  readonly verdict: Verdict;
  readonly state: RunState;
  /** Of a task's completion. */
  readonly task?:
    | {
        readonly node: string;
        readonly status: StepStatus;
        readonly outcome: string | undefined;
        /** Outcomes that lead on. */
        readonly outcomes: readonly string[];
      }
    | undefined;
}

/** The error that tells of a refusal; undefined where nothing was refused. Pure. */
export function refusalOf({ verdict, state, task }: Asked): GatewayError | undefined {
  switch (verdict) {
    case 'applied':
    case 'unchanged':
      return undefined;
    case 'not-paused':
      return WorkflowErrors.notPaused(`The run is ${state.status}; only a paused run can be retried.`);
    case 'already-completed':
      return WorkflowErrors.alreadyCompleted('The run is completed: there is nothing left to cancel.');
    case 'task-not-open':
      return WorkflowErrors.taskNotOpen(
        task && `The step "${task.node}" is ${task.status}; only a human task that waits can be completed.`,
      );
    case 'task-completed-otherwise':
      return WorkflowErrors.taskCompleted(
        'Somebody has completed the task with another outcome, output or variables; the first completion counts.',
      );
    case 'outcome-not-routable':
      return WorkflowErrors.outcomeNotRoutable(unroutable(task?.outcome, task?.outcomes ?? []));
    case 'context-too-large':
      return WorkflowErrors.contextTooLarge(
        'With this output and these variables the data of the run would be too large. Nothing was written.',
      );
  }
}

function unroutable(outcome: string | undefined, outcomes: readonly string[]): string {
  const given = outcome === undefined ? 'Without an outcome' : `With the outcome ${JSON.stringify(outcome)}`;
  const known =
    outcomes.length === 0
      ? 'the edges that leave it ask for other data'
      : `outcomes that lead on: ${outcomes.map((name) => JSON.stringify(name)).join(', ')}`;
  return `${given} no edge leads on from this task; ${known}. Nothing was written, and the task stays open.`;
}
