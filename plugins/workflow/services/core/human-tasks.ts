import type { JsonObject } from '../../contract/graph.ts';
import { jsonEqual } from '../graph/json-equal.ts';
import { ownMember } from '../graph/json-object.ts';
import { contextSize, jsonLength, MAX_TASK_INPUT, MAX_VARIABLES } from './context-size.ts';
import { type Draft, putStep } from './draft.ts';
import { tellOfStep } from './event-writer.ts';
import { completeStep, failStep } from './finishing.ts';
import type { Occurrence, TaskPayload, Verdict } from './occurrence.ts';
import { humanTaskTimeout, inputTooLarge } from './problems.ts';
import { chooseEdges, leadsOnWith } from './routing.ts';
import { runData } from './run-data.ts';
import type { StepState } from './run-state.ts';
import { stepById, warnOfMissing } from './step.ts';
import { timestamp } from './timestamp.ts';
import { inOrder } from './topology.ts';

/** The outcome with which a task completes when its time is over (decisions 2.5). */
const TIMEOUT = 'timeout';

/**
 * Opens the human tasks that are reached, unless the run is paused: then they wait as all successors do, and open when it goes on (decisions 2.3).
 * After all else that an occurrence brings, so that the order in which a graph is written does not decide.
 */
export function openTasks(draft: Draft): void {
  if (draft.tally.pending === 0) return;
  const reached = [...draft.steps.values()].filter(
    ({ status, nodeId }) => status === 'pending' && draft.graph.nodes.get(nodeId)!.behavior === 'human',
  );
  for (const step of inOrder(draft.graph, reached)) {
    if (draft.tally.failed > 0) return;
    openTask(draft, step);
  }
}

/** Somebody may complete it from now on, and its time runs. */
function openTask(draft: Draft, step: StepState): void {
  const { graph, facts } = draft;
  const node = graph.nodes.get(step.nodeId)!;
  const { input, missing, failure: fault } = node.fill(runData(draft));
  const size = jsonLength(input);
  const failure = fault ?? (size > MAX_TASK_INPUT ? inputTooLarge(step, size, MAX_TASK_INPUT) : undefined);
  if (failure !== undefined) {
    failStep(draft, step, failure);
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
  putStep(draft, waiting);
  tellOfStep(draft, 'task.created', waiting, {
    attempt: step.attempt,
    assignee,
    ...(dueAt === null ? {} : { due_at: timestamp(dueAt) }),
    outcomes: graph.outcomesOf(node.id),
  });
  warnOfMissing(draft, waiting, missing);
}

/**
 * Somebody completes a task. The first completion wins; the same payload again changes nothing. Variables are merged before the edges are
 * chosen, so that conditions see them.
 */
export function taskCompleted(
  draft: Draft,
  { stepId, attempt, by, payload }: Extract<Occurrence, { readonly type: 'task_completed' }>,
): Verdict {
  const step = stepById(draft.steps, stepId);
  if (step === undefined) return 'task-not-open';
  const sent = payloadData(payload);
  if (step.completion !== null) {
    return jsonEqual(step.completion.payload, sent) ? 'unchanged' : 'task-completed-otherwise';
  }
  const isOther = attempt !== undefined && attempt !== step.attempt;
  if (step.status !== 'waiting' || isOther) return 'task-not-open';

  const { outcome = null, output = {} } = payload;
  // Spreading defines own members, so that a member `__proto__` is data as any other.
  const variables = payload.variables ? { ...draft.variables, ...payload.variables } : draft.variables;
  const size = contextSize(draft, { output, variables });
  if (size > draft.facts.limits.maxContext || jsonLength(variables) > MAX_VARIABLES)
    return 'context-too-large';
  const node = draft.graph.nodes.get(step.nodeId)!;
  const data = runData(draft, { nodeId: node.id, output, variables });
  const taken = chooseEdges(draft.graph, node, outcome, data);
  if (taken.length === 0) return 'outcome-not-routable';
  draft.variables = variables;
  tellOfStep(draft, 'task.completed', step, { by, outcome });
  completeStep(draft, { ...step, output, outcome, taken, completion: { by, payload: sent } });
  return 'applied';
}

/** Times out the tasks whose time is over (decisions 2.5): they complete with the outcome `timeout` where an edge is named so, else they fail. */
export function tick(draft: Draft): Verdict {
  const { graph, facts } = draft;
  if (draft.tally.waiting === 0) return 'unchanged';
  const due = [...draft.steps.values()].filter(
    ({ status, dueAt }) => status === 'waiting' && dueAt !== null && dueAt <= facts.now,
  );
  for (const step of inOrder(graph, due)) {
    const node = graph.nodes.get(step.nodeId)!;
    tellOfStep(draft, 'task.timed_out', step, { attempt: step.attempt });
    if (!leadsOnWith(graph, node, TIMEOUT)) {
      failStep(draft, step, humanTaskTimeout(step));
      continue;
    }
    const output = {};
    const taken = chooseEdges(graph, node, TIMEOUT, runData(draft, { nodeId: node.id, output }));
    tellOfStep(draft, 'task.completed', step, { by: 'system', outcome: TIMEOUT });
    // No completion is kept: whoever sends one afterwards is told that the task is not open, whatever he sends.
    completeStep(draft, { ...step, output, outcome: TIMEOUT, taken });
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

/** Null means anybody. What is no text is nobody's id as text, which closes the task rather than opening it. */
function assigneeOf(input: JsonObject): string | null {
  const assignee = ownMember(input, 'assignee') ?? '';
  if (assignee === '') return null;
  return typeof assignee === 'string' ? assignee : JSON.stringify(assignee);
}
