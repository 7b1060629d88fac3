import type { GatewayError } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { StepStatus } from '../../contract/runs.ts';
import type { Verdict } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';

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
        /** Where no outcome leads on: the conditions of the edges that leave it, as text. */
        readonly conditions: readonly string[];
        /** Of a completion that is too large: how large, and what is allowed. */
        readonly size: string;
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
      return unroutable(task?.outcome, task?.outcomes ?? [], task?.conditions ?? []);
    case 'context-too-large':
      return WorkflowErrors.contextTooLarge(
        `With this output and these variables ${task?.size ?? 'the data of the run would be too large'}. Nothing was written.`,
      );
  }
}

/** Conditions that a message lists. */
const MAX_LISTED = 5;

function unroutable(
  outcome: string | undefined,
  outcomes: readonly string[],
  conditions: readonly string[],
): GatewayError {
  const given = outcome === undefined ? 'Without an outcome' : `With the outcome ${JSON.stringify(outcome)}`;
  const tell = (why: string, pointer: string, message: string) =>
    WorkflowErrors.outcomeNotRoutable(
      `${given} no edge leads on from this task; ${why}. Nothing was written, and the task stays open.`,
      { errors: [{ pointer, message }] },
    );
  if (outcomes.length > 0) {
    const known = outcomes.map((name) => JSON.stringify(name)).join(', ');
    return tell(`outcomes that lead on: ${known}`, '/body/outcome', `must be one of ${known}`);
  }
  if (conditions.length === 0)
    return tell('its edges are those of its timeout', '/body/outcome', 'leads nowhere');
  // Outcomes play no part: it is the data that lead nowhere.
  const more = conditions.length > MAX_LISTED ? `; and ${conditions.length - MAX_LISTED} more` : '';
  const listed = conditions.slice(0, MAX_LISTED).join('; ') + more;
  return tell(
    `none of the conditions of its edges holds: ${listed}`,
    '/body',
    `must make one of these hold, by "output" or "variables": ${listed}`,
  );
}
