import { ADMIN_SCOPE, type GatewayError, type Identity } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { TaskCompletion } from '../../contract/runs.ts';
import type { Verdict } from '../core/commands.ts';
import { conditionText } from '../core/failures.ts';
import { contextSize, MAX_VARIABLES, type RunState, type StepState } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { jsonLength } from '../graph/json.ts';
import { MAX_CONTEXT } from '../runner/create-runner.ts';

/** A task whose completion was asked for. */
interface AskedTask {
  /** As it is now. */
  readonly step: StepState;
  readonly payload: TaskCompletion;
  /** Where no edge leads on from the outcome: the graph. */
  readonly graph: CompiledGraph | undefined;
  /** Takes credentials out of conditions: a user who completes a task may not be allowed to see them. */
  readonly redact: (text: string) => string;
}

/** The error for a refusal; undefined where nothing was refused. `task`: of a completion. Pure. */
export function refusalOf(
  { verdict, state }: { readonly verdict: Verdict; readonly state: RunState },
  task?: AskedTask,
): GatewayError | undefined {
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
        task &&
          `The step "${task.step.nodeId}" is ${task.step.status}; only a human task that waits can be completed.`,
      );
    case 'task-completed-otherwise':
      return WorkflowErrors.taskCompleted(
        'The task was completed before with another outcome, output or variables; the first completion counts.',
      );
    case 'outcome-not-routable':
      return unroutable(task!);
    case 'context-too-large':
      return WorkflowErrors.contextTooLarge(
        `With this output and these variables ${sizeWith(state, task!.payload)}. Nothing was written.`,
      );
  }
}

/** Conditions that a message lists. */
const MAX_LISTED = 5;

function unroutable({ step, payload: { outcome }, graph, redact }: AskedTask): GatewayError {
  const outcomes = graph?.outcomesOf(step.nodeId) ?? [];
  const conditions = graph && outcomes.length === 0 ? comparisonsOf(graph, step.nodeId).map(redact) : [];
  const given = outcome === undefined ? 'Without an outcome' : `With the outcome ${JSON.stringify(outcome)}`;
  const refuse = (why: string, pointer: string, message: string) =>
    WorkflowErrors.outcomeNotRoutable(
      `${given} no edge leads on from this task; ${why}. Nothing was written, and the task stays open.`,
      { errors: [{ pointer, message }] },
    );
  if (outcomes.length > 0) {
    const known = outcomes.map((name) => JSON.stringify(name)).join(', ');
    return refuse(`outcomes that lead on: ${known}`, '/body/outcome', `must be one of ${known}`);
  }
  if (conditions.length === 0)
    return refuse('its edges are those of its timeout', '/body/outcome', 'leads nowhere');
  // Outcomes are irrelevant here: no comparison matches the data.
  const more = conditions.length > MAX_LISTED ? `; and ${conditions.length - MAX_LISTED} more` : '';
  const listed = conditions.slice(0, MAX_LISTED).join('; ') + more;
  return refuse(
    `none of the conditions of its edges holds: ${listed}`,
    '/body',
    `must make one of these hold, by "output" or "variables": ${listed}`,
  );
}

/** Prefix of an assignee that is a role and not a user. */
const ROLE = 'role:';

/**
 * The assignees that an identity answers to (decisions 2.5): its own id, and each of its roles as `role:<name>`. Only
 * the credential counts; the `X-Svc-User-Id` that a client sends does not. An id that looks like a role matches no
 * assignee; otherwise users could gain a role by choosing their id.
 */
export function assigneesOf({ id, roles }: Identity): readonly string[] {
  const named = roles.map((role) => `${ROLE}${role}`);
  return id.startsWith(ROLE) ? named : [id, ...named];
}

/**
 * True for identities that may see and complete every task of their tenant: its `admin`s, its `owner`, and those with
 * the scope `admin`.
 */
export function isTaskAdmin({ roles, scopes }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner') || scopes.has(ADMIN_SCOPE);
}

/**
 * Throws `workflow.not-assigned` unless the identity may complete a task with this assignee. A task without an assignee
 * is for all.
 */
export function requireAssignee(assignee: string | null, identity: Identity): void {
  if (assignee === null || assignee === '') return;
  if (assigneesOf(identity).includes(assignee) || isTaskAdmin(identity)) return;
  // An assignee that was filled in from data may be any text, so the message does not repeat it.
  const who = assignee.startsWith(ROLE) ? 'users with another role' : 'somebody else';
  throw WorkflowErrors.notAssigned(
    `This task is for ${who}. Only they and administrators of the tenant may complete it.`,
  );
}

/** The comparisons of the edges that leave a node, in the words of its graph. */
function comparisonsOf({ nodes, graph }: CompiledGraph, nodeId: string): readonly string[] {
  return (nodes.get(nodeId)?.outgoing ?? []).flatMap((index) => {
    const condition = graph.edges[index]?.condition;
    return condition === undefined || 'outcome' in condition ? [] : [conditionText(condition)];
  });
}

/** How large a run would become by a completion that was refused as too large, and what is allowed. */
function sizeWith(state: RunState, { output = {}, variables: added }: TaskCompletion): string {
  const variables = added === undefined ? state.variables : { ...state.variables, ...added };
  const length = jsonLength(variables);
  if (length > MAX_VARIABLES) return sizeText('all variables together', length, MAX_VARIABLES);
  const size = contextSize({ ...state, variables }, output);
  return sizeText('input, variables and outputs together', size, MAX_CONTEXT);
}

function sizeText(what: string, size: number, limit: number): string {
  const became = Number.isFinite(size) ? `have ${size} characters of JSON` : 'be nested too deeply';
  return `${what} would ${became}; ${limit} characters are allowed`;
}
