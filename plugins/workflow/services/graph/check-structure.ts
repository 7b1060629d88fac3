import type { ConfigCheck } from './check-config.ts';
import type { DrawnGraph, DrawnNode } from './drawn-graph.ts';
import { compareText, findCycles, type Links, linksOf, reachableFrom } from './links.ts';
import { quote, quoteAll } from './problems.ts';

/** Checks the structure of nodes and edges: markers, dead ends, reachability, cycles. */
export function checkStructure(graph: DrawnGraph, check: ConfigCheck): void {
  const links = linksOf(check.index.ids, graph.edges);
  const starts = nodesOfType('start', graph);
  checkMarkers(starts, nodesOfType('end', graph), check);
  checkWays(graph, check);
  const ids = starts.flatMap(({ id }) => id ?? []);
  const reachable = reachableFrom(ids, links);
  if (starts.length > 0) checkReachability(reachable, graph, check);
  checkCycles(reachable, graph, links, check);
}

/** In the order of their ids: messages must not depend on the order in the file. */
function nodesOfType(type: string, { nodes }: DrawnGraph): readonly DrawnNode[] {
  return nodes.filter((node) => node.type === type).sort((a, b) => compareText(a.id ?? '', b.id ?? ''));
}

function checkMarkers(
  starts: readonly DrawnNode[],
  ends: readonly DrawnNode[],
  { problems }: ConfigCheck,
): void {
  if (starts.length === 0) {
    const message = 'There is no start node. Add one: {"id": "start", "type": "start"}.';
    problems.add('start-count', message, { pointer: '/nodes' });
  }
  const [, surplus] = starts;
  if (surplus !== undefined) {
    const ids = quoteAll(starts.map(({ id }) => id ?? '?'));
    const message = `There are ${starts.length} start nodes: ${ids}. Keep one; it may have several outgoing edges.`;
    problems.add('start-count', message, surplus.place);
  }
  if (ends.length > 0) return;
  const message = 'There is no end node. Add one: {"id": "end", "type": "end"}.';
  problems.add('end-count', message, { pointer: '/nodes' });
}

/** Edges into the start, out of an end, and nodes that lead nowhere. */
function checkWays({ edges }: DrawnGraph, { problems, index }: ConfigCheck): void {
  const left = new Set<string>();
  for (const { from, to, label, place } of edges) {
    if (from !== to && to !== undefined && index.typeOf(to) === 'start') {
      const message = `${label} leads to the start node, where runs begin. Remove it, or let it lead to another node.`;
      problems.add('start-incoming', message, { ...place, pointer: `${place.pointer}/to` });
    }
    if (from === undefined || from === to) continue;
    left.add(from);
    if (index.typeOf(from) !== 'end') continue;
    const message = `${label} leaves an end node, where paths end. Remove it, or let it leave another node.`;
    problems.add('end-outgoing', message, { ...place, pointer: `${place.pointer}/from` });
  }
  for (const id of index.ids) {
    const type = index.typeOf(id);
    if (type === undefined || type === 'end' || left.has(id)) continue;
    const message = `Node ${quote(id)} leads nowhere. Add an edge from it, at least to an end node.`;
    problems.add('dead-end', message, { pointer: '/nodes', ...index.get(id)?.place });
  }
}

function checkReachability(
  reachable: ReadonlySet<string>,
  { nodes }: DrawnGraph,
  { problems }: ConfigCheck,
): void {
  for (const { id, label, place } of nodes) {
    if (id === undefined || reachable.has(id)) continue;
    const message = `${label} cannot be reached: no path leads to it from the start node. Add an edge to it, or remove it.`;
    problems.add('unreachable', message, place);
  }
}

/** A cycle is shown from where runs come into it, so that the reported edge is the one that leads back. */
function checkCycles(
  reachable: ReadonlySet<string>,
  { edges }: DrawnGraph,
  links: Links,
  { problems }: ConfigCheck,
): void {
  for (const cycle of findCycles(links, reachable)) {
    const back = edges.find(({ from, to }) => from === cycle.at(-1) && to === cycle[0]);
    const shown = cycle.length > MAX_SHOWN ? [...cycle.slice(0, MAX_SHOWN), '…'] : cycle;
    const path = [...shown, cycle[0]].join(' → ');
    const message = `There is a cycle: ${path}. Remove one of its edges; every step of a run runs once.`;
    problems.add('cycle', message, back?.place ?? { pointer: '/edges' });
  }
}

/** Nodes of a cycle that are shown. */
const MAX_SHOWN = 20;
