import type { JsonObject } from '../../contract/graph.ts';
import type { CompiledEdge, CompiledNode } from '../graph/compiled-graph.ts';
import { jsonLength, ownMember } from '../graph/json.ts';
import { inputFault, maxStepsExceeded } from './failures.ts';
import { newStep, type StepState } from './state.ts';
import type { Transition } from './transition.ts';

/**
 * What follows from every change, in one go: the nodes that it leads to are decided, and in turn the nodes after them
 * (decisions 2.1.3); then the human tasks that are reached are opened, so that the order in which a graph is written
 * makes no difference; then the run's status is updated from its steps.
 */
export function follow(run: Transition): void {
  for (let node = run.nextUndecided(); node !== undefined; node = run.nextUndecided()) decide(run, node);
  for (const step of run.steps(['pending'], (step) => run.node(step).behavior === 'human')) {
    // While the run is paused they wait as all successors do, and open when it goes on (decisions 2.3).
    if (run.hasFailed) break;
    openTask(run, step);
  }
  run.settle();
}

/**
 * A node whose incoming edges are all resolved runs when one of them was taken, and is skipped, with all nodes that
 * depend on it alone, when none was. The last of its edges is resolved once, so a node is decided once.
 */
function decide(run: Transition, node: CompiledNode): void {
  let isReached = false;
  for (const index of node.incoming) {
    const fate = fateOf(run, run.graph.edges[index]!);
    if (fate === 'open') return;
    if (fate === 'taken') isReached = true;
  }
  const step = newStep(node, run.facts);
  if (isReached) activate(run, step);
  else run.skip(step);
}

/** The state of an edge: it is taken or dead once the node that it leaves is over. */
function fateOf({ state }: Transition, edge: CompiledEdge): 'open' | 'taken' | 'dead' {
  const step = state.steps.get(edge.from);
  if (step?.status === 'skipped') return 'dead';
  if (step?.status !== 'completed') return 'open';
  return step.taken!.includes(edge.index) ? 'taken' : 'dead';
}

/**
 * Begins an attempt of a step: `start` and `end` complete at once, an automatic step waits for a worker, a human task
 * until it is opened. Where the run has activated all the steps that it may, the step fails instead (decisions 2.6).
 *
 * @param step a pending step that is not written yet
 */
export function activate(run: Transition, step: StepState): void {
  const { behavior } = run.node(step);
  if (run.isFullFor(step)) run.fail(step, maxStepsExceeded(step, run.facts.limits.maxSteps));
  else if (behavior === 'start' || behavior === 'end') run.finish(step, {});
  else run.enqueue(step);
}

/** Characters of JSON of what a human task shows to people at most: lists of tasks show it. */
const MAX_TASK_INPUT = 64 * 1024;

function openTask(run: Transition, step: StepState): void {
  const filled = run.fill(step);
  const fault = inputFault(step, filled, jsonLength(filled.input), MAX_TASK_INPUT);
  if (fault === undefined) run.openTask(step, filled, assigneeOf(filled.input));
  else run.fail(step, fault);
}

/**
 * Null means any user. JSON other than text becomes its text, which is no identity's id: that locks the task rather
 * than opening it to all.
 */
function assigneeOf(input: JsonObject): string | null {
  const assignee = ownMember(input, 'assignee') ?? '';
  if (assignee === '') return null;
  return typeof assignee === 'string' ? assignee : JSON.stringify(assignee);
}
