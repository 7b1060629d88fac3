import test from 'ava';
import fc from 'fast-check';
import type { Graph, GraphEdge, GraphNode } from '../../../../../plugins/workflow/contract/graph.ts';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import { compileGraph } from '../../../../../plugins/workflow/services/graph/compile-graph.ts';
import { TYPES } from './kit.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;

const CONFIG = fc.constantFrom<Pick<GraphNode, 'type' | 'config'>>(
  { type: 'start' },
  { type: 'end' },
  { type: 'human_task', config: { timeout: '5m' } },
  { type: 'human_task', config: { timeout: 'never' } },
  { type: 'agent_task', config: { prompt: '{{steps.a.output.x}}' } },
  { type: 'agent_task', config: { prompt: '{{steps.zz.output.x}}' } },
  { type: 'agent_tsk' },
);

const CONDITION = fc.constantFrom<GraphEdge['condition']>(
  undefined,
  { outcome: 'yes' },
  { field: 'input.a', op: 'eq', value: 1 },
  { field: 'steps.zz.output', op: 'exists', value: true },
);

/** Any small graph, right or wrong; duplicate ids and unknown ends included. */
const ANY_GRAPH: fc.Arbitrary<Graph> = fc.record({
  nodes: fc.array(
    fc.record({ id: fc.constantFrom(...IDS), config: CONFIG }).map(({ id, config }) => ({ id, ...config })),
    { maxLength: 10 },
  ),
  edges: fc.array(
    fc.record({
      from: fc.constantFrom(...IDS, 'i'),
      to: fc.constantFrom(...IDS, 'i'),
      condition: CONDITION,
    }),
    { maxLength: 20 },
  ),
});

/** Graphs whose edges lead from smaller to larger ids, between a start and an end. */
const VALID_GRAPH: fc.Arbitrary<Graph> = fc
  .array(fc.tuple(fc.nat({ max: 7 }), fc.nat({ max: 7 }), CONDITION), { maxLength: 24 })
  .map((pairs) => ({
    nodes: [
      { id: 'start', type: 'start' },
      ...IDS.map((id) => ({ id, type: 'human_task' })),
      { id: 'end', type: 'end' },
    ],
    edges: [
      ...IDS.flatMap((id) => [
        { from: 'start', to: id },
        { from: id, to: 'end' },
      ]),
      ...pairs
        .filter(([from, to]) => from < to)
        .map(([from, to, condition]) => ({ from: IDS[from]!, to: IDS[to]!, condition })),
    ],
  }));

/** A graph, and the same one in another order. */
function withShuffled(graphs: fc.Arbitrary<Graph>): fc.Arbitrary<readonly [Graph, Graph]> {
  return graphs.chain((graph) =>
    fc
      .tuple(shuffled(graph.nodes), shuffled(graph.edges))
      .map(([nodes, edges]): readonly [Graph, Graph] => [graph, { nodes, edges }]),
  );
}

function shuffled<T>(list: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...list], { minLength: list.length });
}

/** What is told, without where in the file. */
function told(graph: Graph): readonly string[] {
  const problems = checkGraph(graph, TYPES);
  return problems.map(({ code, message }) => `${code} ${message}`).sort();
}

test('the problems of a graph do not depend on the order of its nodes and edges', (t) => {
  fc.assert(
    fc.property(withShuffled(ANY_GRAPH), ([graph, other]) => {
      t.deepEqual(told(other), told(graph));
    }),
    { numRuns: 500 },
  );
});

test('pointers, nodes and edges lead to what a problem is about', (t) => {
  fc.assert(
    fc.property(ANY_GRAPH, (graph) => {
      for (const { pointer, node, edge } of checkGraph(graph, TYPES)) {
        const [, list, index] = pointer.split('/');
        if (node !== undefined) t.is(graph.nodes[Number(index)]?.id, node);
        if (edge !== undefined) t.deepEqual([list, index], ['edges', String(edge)]);
      }
    }),
    { numRuns: 300 },
  );
});

test('the order of a compiled graph does not depend on the order of its nodes and edges', (t) => {
  fc.assert(
    fc.property(withShuffled(VALID_GRAPH), ([graph, other]) => {
      const [compiled, again] = [compileGraph(graph, TYPES), compileGraph(other, TYPES)];
      t.deepEqual([...again.nodes.keys()], [...compiled.nodes.keys()]);
      for (const id of compiled.nodes.keys()) {
        t.deepEqual(ends(again, id), ends(compiled, id));
        t.deepEqual(new Set(again.outcomesOf(id)), new Set(compiled.outcomesOf(id)));
      }
    }),
    { numRuns: 200 },
  );
});

test('a node comes after all that lead to it', (t) => {
  fc.assert(
    fc.property(VALID_GRAPH, (graph) => {
      const order = [...compileGraph(graph, TYPES).nodes.keys()];
      t.is(order.length, graph.nodes.length);
      for (const { from, to } of graph.edges) t.true(order.indexOf(from) < order.indexOf(to));
    }),
  );
});

test('a graph without problems compiles, and one that does not compile has problems', (t) => {
  let compiled = 0;
  fc.assert(
    fc.property(fc.oneof(ANY_GRAPH, VALID_GRAPH), (graph) => {
      if (checkGraph(graph, TYPES).length > 0) return;
      compiled += 1;
      t.notThrows(() => compileGraph(graph, TYPES));
    }),
    { numRuns: 300 },
  );
  t.true(compiled > 0);
});

/** The ends of the edges of a node, in an order of their own. */
function ends(graph: ReturnType<typeof compileGraph>, id: string): readonly string[] {
  const node = graph.nodes.get(id);
  return [...(node?.incoming ?? []), ...(node?.outgoing ?? [])]
    .map((index) => `${graph.edges[index]?.from} ${graph.edges[index]?.to}`)
    .sort();
}
