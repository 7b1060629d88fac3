import type { JsonObject } from '../../contract/graph.ts';
import { jsonEqual, ownMember } from '../graph/json.ts';
import type { Command, TaskPayload, Verdict } from './commands.ts';
import { contextSize, jsonLength, MAX_TASK_INPUT, MAX_VARIABLES, runData } from './data.ts';
import { emitStepEvent, humanTaskTimeout, inputTooLarge, timestamp, warnOfMissing } from './events.ts';
import { chooseEdges, completeStep, failStep, leadsOnWith } from './finish.ts';
import { inOrder, putStep, type StepState, stepById, type Transition } from './state.ts';

/** The outcome with which a task completes when its time is over (decisions 2.5). */
const TIMEOUT = 'timeout';

/**
 * Opens the human tasks that are reached, unless the run is paused: then they wait as all successors do, and open when it goes on (decisions 2.3).
 * After all else that an command brings, so that the order in which a graph is written does not decide.
 */
export function openTasks(transition: Transition): void {
  if (transition.tally.pending === 0) return;
  const reached = [...transition.steps.values()].filter(
    ({ status, nodeId }) => status === 'pending' && transition.graph.nodes.get(nodeId)!.behavior === 'human',
  );
  for (const step of inOrder(transition.graph, reached)) {
    if (transition.tally.failed > 0) return;
    openTask(transition, step);
  }
}

/** Somebody may complete it from now on, and its time runs. */
function openTask(transition: Transition, step: StepState): void {
  const { graph, facts } = transition;
  const node = graph.nodes.get(step.nodeId)!;
  const { input, missing, failure: fault } = node.fill(runData(transition));
  const size = jsonLength(input);
  const failure = fault ?? (size > MAX_TASK_INPUT ? inputTooLarge(step, size, MAX_TASK_INPUT) : undefined);
  if (failure !== undefined) {
    failStep(transition, step, failure);
    return;
  }
  const assignee = assigneeOf(input);
  const dueAt = node.timeoutMs === undefined ? null : facts.now + node.timeoutMs;
  const waiting: StepState = {
    ...step,
    status: 'waiting',
    input,
    assignee,
    dueAt,
    startedAt: facts.now,
  };
  putStep(transition, waiting);
  emitStepEvent(transition, 'task.created', waiting, {
    attempt: step.attempt,
    assignee,
    ...(dueAt === null ? {} : { due_at: timestamp(dueAt) }),
    outcomes: graph.outcomesOf(node.id),
  });
  warnOfMissing(transition, waiting, missing);
}

/**
 * Somebody completes a task. The first completion wins; the same payload again changes nothing. Variables are merged before the edges are
 * chosen, so that conditions see them.
 */
export function taskCompleted(
  transition: Transition,
  { stepId, attempt, by, payload }: Extract<Command, { readonly type: 'task_completed' }>,
): Verdict {
  const step = stepById(transition.steps, stepId);
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
    ? { ...transition.variables, ...payload.variables }
    : transition.variables;
  const size = contextSize(transition, { output, variables });
  if (size > transition.facts.limits.maxContext || jsonLength(variables) > MAX_VARIABLES)
    return 'context-too-large';
  const node = transition.graph.nodes.get(step.nodeId)!;
  const data = runData(transition, { nodeId: node.id, output, variables });
  const taken = chooseEdges(transition.graph, node, outcome, data);
  if (taken.length === 0) return 'outcome-not-routable';
  transition.variables = variables;
  emitStepEvent(transition, 'task.completed', step, { by, outcome });
  completeStep(transition, { ...step, output, outcome, taken, completion: { by, payload: sent } });
  return 'applied';
}

/** Times out the tasks whose time is over (decisions 2.5): they complete with the outcome `timeout` where an edge is named so, else they fail. */
export function tick(transition: Transition): Verdict {
  const { graph, facts } = transition;
  if (transition.tally.waiting === 0) return 'unchanged';
  const due = [...transition.steps.values()].filter(
    ({ status, dueAt }) => status === 'waiting' && dueAt !== null && dueAt <= facts.now,
  );
  for (const step of inOrder(graph, due)) {
    const node = graph.nodes.get(step.nodeId)!;
    emitStepEvent(transition, 'task.timed_out', step, { attempt: step.attempt });
    if (!leadsOnWith(graph, node, TIMEOUT)) {
      failStep(transition, step, humanTaskTimeout(step));
      continue;
    }
    const output = {};
    const taken = chooseEdges(graph, node, TIMEOUT, runData(transition, { nodeId: node.id, output }));
    emitStepEvent(transition, 'task.completed', step, { by: 'system', outcome: TIMEOUT });
    // No completion is kept, so that every later one is refused: the task is not open.
    completeStep(transition, { ...step, output, outcome: TIMEOUT, taken });
  }
  return due.length > 0 ? 'applied' : 'unchanged';
}

/** As it was sent: what is absent stays absent. */
function payloadData({ outcome, output, variables }: TaskPayload): JsonObject {
  return {
    ...(outcome === undefined ? {} : { outcome }),
    ...(output === undefined ? {} : { output }),
    ...(variables === undefined ? {} : { variables }),
  };
}

/** Null means anybody. Other JSON is taken as text, which is no identity's id: that closes the task rather than opening it. */
function assigneeOf(input: JsonObject): string | null {
  const assignee = ownMember(input, 'assignee') ?? '';
  if (assignee === '') return null;
  return typeof assignee === 'string' ? assignee : JSON.stringify(assignee);
}
