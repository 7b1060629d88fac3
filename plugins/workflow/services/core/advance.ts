import type { JsonObject } from '../../contract/graph.ts';
import type { TaskCompletion } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode } from '../graph/compiled-graph.ts';
import { jsonEqual, jsonLength } from '../graph/json.ts';
import { type Command, type CommandOf, type Facts, SYSTEM, type Verdict } from './commands.ts';
import { contextTooLarge, humanTaskTimeout, inputFault, workerLost } from './failures.ts';
import { activate, follow } from './follow.ts';
import {
  contextSize,
  inputSize,
  MAX_VARIABLES,
  newStep,
  nextAttempt,
  type RunState,
  type StepState,
  type TransitionResult,
} from './state.ts';
import { Transition } from './transition.ts';

/**
 * Applies what happened to a run, in order, and gives its next state with the events of the change. Pure: the same
 * arguments give the same result, but for the ids that `facts.newId` makes. `state` stays as it is. The revision grows
 * by one in all when anything changed; when nothing did, the result is the same object without events.
 *
 * @param graph that of the version to which the run is pinned
 */
export function advance(
  graph: CompiledGraph,
  state: RunState,
  commands: readonly Command[],
  facts: Facts,
): TransitionResult {
  const run = new Transition(graph, state, facts);
  const verdicts = commands.map((command) => applyTo(run, command));
  return { ...run.close(), verdicts };
}

/** Where a run comes from. */
export type Origin = Pick<
  RunState,
  'id' | 'tenantId' | 'definitionId' | 'versionId' | 'version' | 'input' | 'startedBy'
> &
  Partial<Pick<RunState, 'userId'>>;

/**
 * The first state of a run, revision 1: `start` is completed, the nodes that it leads to are decided, and their steps
 * claimed if there is a `claimant`.
 */
export function startRun(
  graph: CompiledGraph,
  origin: Origin,
  facts: Facts,
  claimant?: { readonly worker: string; readonly room: number },
): TransitionResult {
  const run = new Transition(graph, newRun(origin, facts), facts);
  run.begin();
  activate(run, newStep(graph.nodes.get(graph.startId)!, facts));
  follow(run);
  const verdicts = claimant === undefined ? [] : [applyTo(run, { type: 'claim', ...claimant })];
  return { ...run.close(), verdicts };
}

/** A run before its first step. */
function newRun(origin: Origin, { now }: Facts): RunState {
  return {
    userId: null,
    ...origin,
    status: 'running',
    revision: 0,
    seq: 0,
    variables: {},
    error: null,
    owner: null,
    wakeAt: null,
    startedAt: now,
    begunAt: null,
    completedAt: null,
    updatedAt: now,
    steps: new Map(),
  };
}

function applyTo(run: Transition, command: Command): Verdict {
  const verdict = apply(run, command);
  if (verdict === 'applied') follow(run);
  return verdict;
}

function apply(run: Transition, command: Command): Verdict {
  switch (command.type) {
    case 'claim':
      return claim(run, command);
    case 'succeeded':
      return succeeded(run, command);
    case 'failed':
      return failed(run, command);
    case 'released':
      return released(run, command);
    case 'worker_lost':
      return workerIsLost(run, command);
    case 'tick':
      return tick(run);
    case 'task_completed':
      return taskCompleted(run, command);
    case 'retry':
      return retry(run, command);
    case 'cancel':
      return cancel(run, command);
  }
}

/**
 * A worker takes steps that are ready, in topological order, `room` at most, and owns the run from then on. Nothing
 * while the run is paused or over, or while another worker owns it.
 */
function claim(run: Transition, { worker, room }: CommandOf<'claim'>): Verdict {
  const { status, owner } = run.state;
  if ((status !== 'running' && status !== 'waiting') || (owner !== null && owner !== worker))
    return 'unchanged';
  const { now } = run.facts;
  const ready = run.steps(['pending'], ({ readyAt }) => readyAt === null || readyAt <= now);
  const claimed = ready.slice(0, Math.max(0, room));
  for (const step of claimed) {
    deliver(run, step, worker);
    // A step whose templates cannot be filled in fails here, and pauses the run.
    if (run.hasFailed) break;
  }
  return claimed.length > 0 ? 'applied' : 'unchanged';
}

/** Hands a step to the worker. The first delivery of an attempt fills in the templates, for all that follow. */
function deliver(run: Transition, step: StepState, worker: string): void {
  if (step.delivery > 0) {
    run.start(step, worker);
    return;
  }
  const filled = run.fill(step);
  const fault = inputFault(step, filled, inputSize(run.state, filled.input), run.facts.limits.maxContext);
  if (fault === undefined) run.start(step, worker, filled);
  else run.fail(step, fault);
}

/** A worker reports the output of a delivery. */
function succeeded(run: Transition, { fence, output, record }: CommandOf<'succeeded'>): Verdict {
  const step = run.running(fence);
  if (step === undefined) return 'unchanged';
  const size = contextSize(run.state, output);
  const { maxContext } = run.facts.limits;
  if (size > maxContext) run.fail(step, contextTooLarge(step, size, maxContext), { record });
  else run.finish(step, output, record);
  return 'applied';
}

/** A worker reports that a delivery failed. */
function failed(
  run: Transition,
  { fence, error, isRetryable, retryAfterMs, record }: CommandOf<'failed'>,
): Verdict {
  const step = run.running(fence);
  if (step === undefined) return 'unchanged';
  run.fail(step, error, { isRetryable, retryAfterMs, record });
  return 'applied';
}

/**
 * A worker gives a step back. Its next delivery repeats the attempt, with the same input; giving it back does not count
 * as a failure. The only event of it is the next `step.started`, whose `delivery` is greater by one.
 */
function released(run: Transition, { fence }: CommandOf<'released'>): Verdict {
  const step = run.running(fence);
  if (step === undefined) return 'unchanged';
  run.enqueue(step);
  return 'applied';
}

/**
 * The owner of the run is gone: its running steps wait for their next delivery. Steps that were lost as often as
 * allowed fail for good: a step that takes replicas down must not be repeated automatically (decisions 2.6).
 */
function workerIsLost(run: Transition, { worker }: CommandOf<'worker_lost'>): Verdict {
  if (run.state.owner !== worker) return 'unchanged';
  for (const step of run.steps(['running'])) {
    const interrupted = { ...step, lost: step.lost + 1 };
    if (interrupted.lost < run.facts.limits.maxDeliveries) run.enqueue(interrupted);
    else run.fail(interrupted, workerLost(interrupted));
  }
  return 'applied';
}

/** The outcome with which a task completes when its time is over (decisions 2.5). */
const TIMEOUT = 'timeout';

/**
 * Times out the tasks whose time is over (decisions 2.5): they complete with the outcome `timeout` where an edge is
 * named so, else they fail.
 */
function tick(run: Transition): Verdict {
  const { now } = run.facts;
  const due = run.steps(['waiting'], ({ dueAt }) => dueAt !== null && dueAt <= now);
  for (const step of due) {
    run.timeOut(step);
    if (!leadsOnWith(run.graph, run.node(step), TIMEOUT)) run.fail(step, humanTaskTimeout(step));
    else run.complete(step, { output: {}, by: SYSTEM, outcome: TIMEOUT });
  }
  return due.length > 0 ? 'applied' : 'unchanged';
}

/** Whether an edge of the node is named after an outcome. */
function leadsOnWith({ edges }: CompiledGraph, { outgoing }: CompiledNode, outcome: string): boolean {
  return outgoing.some((index) => {
    const { condition } = edges[index]!;
    return condition?.kind === 'outcome' && condition.outcome === outcome;
  });
}

/**
 * A caller completes a task. The first completion wins; a repetition with the same payload changes nothing. Variables
 * are merged before the edges are chosen, so that conditions see them.
 */
function taskCompleted(
  run: Transition,
  { stepId, attempt, by, payload }: CommandOf<'task_completed'>,
): Verdict {
  const step = run.step(stepId);
  if (step === undefined) return 'task-not-open';
  const sent = payloadData(payload);
  if (step.completion !== null) {
    return jsonEqual(step.completion.payload, sent) ? 'unchanged' : 'task-completed-otherwise';
  }
  const isOther = attempt !== undefined && attempt !== step.attempt;
  if (step.status !== 'waiting' || isOther) return 'task-not-open';

  const { outcome = null, output = {} } = payload;
  // Spreading defines own members, so that a member `__proto__` is data as any other.
  const variables = payload.variables
    ? { ...run.state.variables, ...payload.variables }
    : run.state.variables;
  const size = contextSize({ ...run.state, variables }, output);
  if (size > run.facts.limits.maxContext || jsonLength(variables) > MAX_VARIABLES) return 'context-too-large';
  const isRoutable = run.complete(step, { output, by, outcome, payload: sent, variables });
  return isRoutable ? 'applied' : 'outcome-not-routable';
}

/** As it was sent, to be compared as JSON: members that are undefined are absent. */
function payloadData({ outcome, output, variables }: TaskCompletion): JsonObject {
  return {
    ...(outcome === undefined ? {} : { outcome }),
    ...(output === undefined ? {} : { output }),
    ...(variables === undefined ? {} : { variables }),
  };
}

/** Begins the next attempt of every failed step of a paused run (decisions 2.6). */
function retry(run: Transition, { by }: CommandOf<'retry'>): Verdict {
  if (run.state.status !== 'paused') return 'not-paused';
  run.resume(by);
  for (const step of run.steps(['failed'])) activate(run, nextAttempt(step));
  return 'applied';
}

/**
 * Ends a run and all of its steps that have not ended; failed ones stay failed. Results that come later change nothing.
 */
function cancel(run: Transition, { by }: CommandOf<'cancel'>): Verdict {
  const { status } = run.state;
  if (status === 'completed') return 'already-completed';
  if (status === 'cancelled') return 'unchanged';
  run.cancel(by);
  return 'applied';
}
