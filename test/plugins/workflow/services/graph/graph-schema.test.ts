import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { OPERATORS } from '../../../../../plugins/workflow/contract/graph.ts';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import { GraphInput, GraphSchema } from '../../../../../plugins/workflow/services/graph/graph-schema.ts';
import { changed, TYPES, VALID } from './kit.ts';

const ajv = new Ajv2020({ strict: false });

test('the schema allows what the check allows', (t) => {
  const isAllowed = ajv.compile(GraphSchema);
  const graphs = [
    VALID,
    ...OPERATORS.map((op) =>
      changed(({ edges }) => {
        edges.push({ from: 'start', to: 'ask', condition: { field: 'input.a', op, value: true } });
      }),
    ),
    changed(({ nodes }) =>
      Object.assign(nodes[1], { name: '', config: { prompt: 'x', retry: { max_attempts: 2 } } }),
    ),
    changed(({ nodes, edges }) => {
      nodes.push({ id: 'x'.repeat(64), type: 'files/copy', config: { fetch: 'a' } });
      edges.push({ from: 'start', to: 'x'.repeat(64) }, { from: 'x'.repeat(64), to: 'end' });
    }),
  ];
  for (const graph of graphs) {
    t.deepEqual(checkGraph(graph, TYPES), []);
    t.true(isAllowed(graph), JSON.stringify(isAllowed.errors));
  }
});

test('the schema tells editors of what is no graph', (t) => {
  const isAllowed = ajv.compile(GraphSchema);
  for (const graph of [
    {},
    { nodes: [] },
    { nodes: [{}], edges: [] },
    { nodes: [], edges: [{ from: 'a' }] },
  ]) {
    t.false(isAllowed(graph), JSON.stringify(graph));
  }
});

test('the schema of a request lets everything pass to the check', (t) => {
  const isAllowed = ajv.compile(GraphInput);
  for (const graph of [VALID, {}, null, [], 5, { nodes: [{ id: 5 }], edges: 'x' }]) t.true(isAllowed(graph));
});
