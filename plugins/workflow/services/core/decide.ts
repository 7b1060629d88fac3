import type { CompiledEdge, CompiledNode } from '../graph/compiled-graph.ts';
import { emitStepEvent, maxStepsExceeded } from './events.ts';
import { failStep, finishStep } from './finish.ts';
import {
  MAX_STEPS_EXCEEDED,
  newStep,
  putStep,
  type StepState,
  type Transition,
  topologyOf,
} from './state.ts';

/**
 * Decides what the nodes that were completed lead to, and what follows from that, in one go (decisions 2.1.3): a node whose incoming edges
 * are all resolved runs when one of them was taken, and is skipped, with all that hangs on it alone, when none was. The last of its edges
 * is resolved once, so a node is decided once. Nodes are decided in topological order, and none is looked at that nothing new leads to.
 */
export function decideSuccessors(transition: Transition): void {
  if (transition.resolved.length === 0) return;
  const { nodes, rankOf } = topologyOf(transition.graph);
  // Ranks, greatest first. All that can decide a node comes before it, so the smallest one is never looked at too early.
  const open: number[] = [];
  while (true) {
    for (const nodeId of transition.resolved) {
      for (const index of transition.graph.nodes.get(nodeId)!.outgoing) {
        insert(open, rankOf(transition.graph.edges[index]!.to));
      }
    }
    transition.resolved.length = 0;
    const rank = open.pop();
    if (rank === undefined) return;
    decide(transition, nodes[rank]!);
  }
}

function decide(transition: Transition, node: CompiledNode): void {
  let isReached = false;
  for (const index of node.incoming) {
    const fate = fateOf(transition, transition.graph.edges[index]!);
    if (fate === 'open') return;
    if (fate === 'taken') isReached = true;
  }
  const step = newStep(transition, node);
  if (isReached) {
    activate(transition, step);
    return;
  }
  putStep(transition, { ...step, status: 'skipped', completedAt: transition.facts.now });
  emitStepEvent(transition, 'step.skipped', step);
  transition.resolved.push(node.id);
}

/** What became of an edge: it ends taken or dead with the node that it leaves. */
function fateOf({ steps }: Transition, edge: CompiledEdge): 'open' | 'taken' | 'dead' {
  const step = steps.get(edge.from);
  if (step?.status === 'skipped') return 'dead';
  if (step?.status !== 'completed') return 'open';
  return step.taken!.includes(edge.index) ? 'taken' : 'dead';
}

/** Inserts a rank where it belongs, unless it is there. */
function insert(ranks: number[], rank: number): void {
  let low = 0;
  let high = ranks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranks[middle]! > rank) low = middle + 1;
    else high = middle;
  }
  if (ranks[low] !== rank) ranks.splice(low, 0, rank);
}

/**
 * Begins an attempt of a step: `start` and `end` complete at once, an automatic step waits for a worker, a human task until `openTasks`. Where the
 * run has activated all the steps that it may, the step fails instead (decisions 2.6).
 *
 * @param step a pending step that is not written yet
 */
export function activate(transition: Transition, step: StepState): void {
  const node = transition.graph.nodes.get(step.nodeId)!;
  const { maxSteps } = transition.facts.limits;
  const old = transition.steps.get(step.nodeId);
  const isCounted = old !== undefined && old.error?.code !== MAX_STEPS_EXCEEDED;
  if (!isCounted && transition.tally.activated >= maxSteps) {
    failStep(transition, step, maxStepsExceeded(node, maxSteps));
    return;
  }
  switch (node.behavior) {
    case 'automatic':
    case 'human':
      putStep(transition, step);
      break;
    case 'start':
    case 'end':
      finishStep(transition, step, {});
  }
}
