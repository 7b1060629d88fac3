import type { CompiledEdge, CompiledNode } from '../graph/compiled-graph.ts';
import { activate } from './activating.ts';
import { type Draft, putStep } from './draft.ts';
import { tellOfStep } from './event-writer.ts';
import { newStep } from './step.ts';
import { topologyOf } from './topology.ts';

/**
 * Decides what the nodes that were completed lead to, and what follows from that, in one go (decisions 2.1.3): a node whose incoming edges
 * are all resolved runs when one of them was taken, and is skipped, with all that hangs on it alone, when none was. The last of its edges
 * is resolved once, so a node is decided once. Nodes are decided in topological order, and none is looked at that nothing new leads to.
 */
export function decideSuccessors(draft: Draft): void {
  if (draft.resolved.length === 0) return;
  const { nodes, rankOf } = topologyOf(draft.graph);
  // Ranks, greatest first. All that can decide a node comes before it, so the smallest one is never looked at too early.
  const open: number[] = [];
  while (true) {
    for (const nodeId of draft.resolved) {
      for (const index of draft.graph.nodes.get(nodeId)!.outgoing) {
        insert(open, rankOf(draft.graph.edges[index]!.to));
      }
    }
    draft.resolved.length = 0;
    const rank = open.pop();
    if (rank === undefined) return;
    decide(draft, nodes[rank]!);
  }
}

function decide(draft: Draft, node: CompiledNode): void {
  let isReached = false;
  for (const index of node.incoming) {
    const fate = fateOf(draft, draft.graph.edges[index]!);
    if (fate === 'open') return;
    if (fate === 'taken') isReached = true;
  }
  const step = newStep(draft, node);
  if (isReached) {
    activate(draft, step);
    return;
  }
  putStep(draft, { ...step, status: 'skipped', completedAt: draft.facts.now });
  tellOfStep(draft, 'step.skipped', step);
  draft.resolved.push(node.id);
}

/** What became of an edge: it ends taken or dead with the node that it leaves. */
function fateOf({ steps }: Draft, edge: CompiledEdge): 'open' | 'taken' | 'dead' {
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
