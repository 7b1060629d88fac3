import test from 'ava';
import type { Graph, GraphNode } from '../../../../../plugins/workflow/contract/graph.ts';
import { compileGraph } from '../../../../../plugins/workflow/services/graph/compile-graph.ts';
import { around, COPY_TYPE, changed, type LooseGraph, nodeTypes, runData, TYPES, VALID } from './kit.ts';

const DATA = runData({ input: { text: 'a/b', id: 7 }, outputs: { ask: { text: 'fine' } } });

test('nodes come in topological order, with their edges, names and behaviours', (t) => {
  const graph = compileGraph(VALID, TYPES);
  t.is(graph.startId, 'start');
  t.is(graph.graph, VALID);
  t.deepEqual(
    [...graph.nodes.values()].map(({ id, name, type, behavior, incoming, outgoing }) => [
      id,
      name,
      type,
      behavior,
      incoming,
      outgoing,
    ]),
    [
      ['start', 'start', 'start', 'start', [], [0]],
      ['ask', 'ask', 'agent_task', 'automatic', [0], [1]],
      ['call', 'call', 'service_task', 'automatic', [1], [2]],
      ['approve', 'Approval', 'human_task', 'human', [2], [3, 4]],
      ['end', 'end', 'end', 'end', [3, 4], []],
    ],
  );
});

test('nodes that could come in any order come by their ids', (t) => {
  const middle = ['d', 'B', 'a', 'c', '1'];
  const graph: Graph = {
    nodes: [
      { id: 'z', type: 'start' },
      ...middle.map((id) => ({ id, type: 'human_task' })),
      { id: '0', type: 'end' },
    ],
    edges: middle.flatMap((id) => [
      { from: 'z', to: id },
      { from: id, to: '0' },
    ]),
  };
  t.deepEqual([...compileGraph(graph, TYPES).nodes.keys()], ['z', '1', 'B', 'a', 'c', 'd', '0']);
});

test('a node that becomes possible later goes before larger ids that are waiting', (t) => {
  const ways = ['zb', 'zy', 'ba', 'a0', 'y0'];
  const graph: Graph = {
    nodes: [
      { id: 'z', type: 'start' },
      ...['a', 'b', 'y'].map((id) => ({ id, type: 'human_task' })),
      { id: '0', type: 'end' },
    ],
    edges: ways.map(([from = '', to = '']) => ({ from, to })),
  };
  t.deepEqual([...compileGraph(graph, TYPES).nodes.keys()], ['z', 'b', 'a', 'y', '0']);
});

test('edges keep their places in the file, and their conditions', (t) => {
  const condition = { field: 'steps.ask.output.text', op: 'eq', value: 'fine' };
  const graph = compileGraph(changed(({ edges }) => Object.assign(edges[1], { condition })) as Graph, TYPES);
  t.deepEqual(
    graph.edges.map(({ index, from, to, condition: found }) => [index, from, to, found?.kind]),
    [
      [0, 'start', 'ask', undefined],
      [1, 'ask', 'call', 'field'],
      [2, 'call', 'approve', undefined],
      [3, 'approve', 'end', 'outcome'],
      [4, 'approve', 'end', undefined],
    ],
  );
  const [, field, , outcome] = graph.edges.map((edge) => edge.condition);
  t.is(field?.kind === 'field' && field.matches(DATA), true);
  t.is(field?.kind === 'field' && field.matches(runData({})), false);
  t.is(outcome?.kind === 'outcome' && outcome.outcome, 'yes');
});

test('a configuration is filled in without its retry, as its type says', (t) => {
  const graph = compileGraph(
    around({
      type: 'service_task',
      config: {
        url: 'https://h/{{input.text}}',
        body: { id: '{{input.id}}', text: '<{{input.text}}>' },
        headers: { 'x-gone': '{{input.gone}}' },
        retry: { max_attempts: 2 },
      },
    }),
    TYPES,
  );
  t.deepEqual(graph.nodes.get('x')?.fill(DATA), {
    input: { url: 'https://h/a%2Fb', body: { id: 7, text: '<a/b>' }, headers: { 'x-gone': '' } },
    missing: ['input.gone'],
  });
});

test('start and end have nothing to fill in', (t) => {
  const { nodes } = compileGraph(VALID, TYPES);
  for (const id of ['start', 'end']) t.deepEqual(nodes.get(id)?.fill(DATA), { input: {}, missing: [] });
});

test('a model and an agent are names, not templates', (t) => {
  const config = { prompt: '{{input.id}}', agent: '{{input.text}}', model: '{{input.text}}' };
  const { nodes } = compileGraph(around({ type: 'agent_task', config }), TYPES);
  t.deepEqual(nodes.get('x')?.fill(DATA).input, { ...config, prompt: 7 });
});

const RETRIES = [
  [{ max_attempts: 3 }, { maxAttempts: 3, delayMs: 1_000, backoff: 'exponential', maxDelayMs: 300_000 }],
  [
    { max_attempts: 10, delay: '10m', backoff: 'fixed' },
    { maxAttempts: 10, delayMs: 600_000, backoff: 'fixed', maxDelayMs: 600_000 },
  ],
  [
    { max_attempts: 1, delay: '0s', backoff: 'exponential', max_delay: '5' },
    { maxAttempts: 1, delayMs: 0, backoff: 'exponential', maxDelayMs: 5_000 },
  ],
] as const;

for (const [retry, policy] of RETRIES) {
  test(`the retry ${JSON.stringify(retry)} is read`, (t) => {
    const { nodes } = compileGraph(around({ type: 'agent_task', config: { prompt: 'Go', retry } }), TYPES);
    t.deepEqual(nodes.get('x')?.retry, policy);
    t.is(nodes.get('start')?.retry, undefined);
  });
}

test('a human task has the time that it says', (t) => {
  t.is(compileGraph(VALID, TYPES).nodes.get('approve')?.timeoutMs, 72 * 3_600_000);
  t.is(compileGraph(around({ type: 'human_task' }), TYPES).nodes.get('x')?.timeoutMs, undefined);
});

test('outcomes of a human task are those of its edges, each once, in their order', (t) => {
  const edges = ['yes', 'no', 'yes', 'timeout'].map((outcome) => ({
    from: 'x',
    to: 'end',
    condition: { outcome },
  }));
  const timed = compileGraph(around({ type: 'human_task', config: { timeout: '1h' } }, ...edges), TYPES);
  t.deepEqual(timed.outcomesOf('x'), ['yes', 'no']);
  const untimed = compileGraph(around({ type: 'human_task' }, ...edges), TYPES);
  t.deepEqual(untimed.outcomesOf('x'), ['yes', 'no', 'timeout']);
  for (const id of ['start', 'end', 'nobody', 'constructor']) t.deepEqual(untimed.outcomesOf(id), [], id);
});

const ASSIGNEES: readonly (readonly [title: string, config: GraphNode['config'], assignee: unknown])[] = [
  ['nobody is named: anybody', {}, undefined],
  ['an empty assignee: anybody', { assignee: '' }, ''],
  ['a user', { assignee: 'ada' }, 'ada'],
  ['a role', { assignee: 'role:{{input.role}}' }, 'role:auditor'],
  ['a number becomes its text', { assignee: '{{input.number}}' }, '42'],
  ['missing data: administrators', { assignee: '{{input.gone}}' }, 'role:admin'],
  ['empty data: administrators', { assignee: ' {{input.empty}} ' }, 'role:admin'],
  ['null: administrators', { assignee: '{{input.null}}' }, 'role:admin'],
  ['an object is nobody', { assignee: '{{input.object}}' }, '{"a":1}'],
];

for (const [title, config, assignee] of ASSIGNEES) {
  test(`who may complete a human task: ${title}`, (t) => {
    const input = { role: 'auditor', number: 42, empty: '', null: null, object: { a: 1 } };
    const { nodes } = compileGraph(around({ type: 'human_task', config }), TYPES);
    t.deepEqual(nodes.get('x')?.fill(runData({ input })).input.assignee, assignee);
  });
}

test('a task whose instructions are too large is not open to anybody', (t) => {
  const config = { assignee: 'ada', instructions: '{{input.big}}'.repeat(3) };
  const { nodes } = compileGraph(around({ type: 'human_task', config }), TYPES);
  const filled = nodes.get('x')?.fill(runData({ input: { big: 'x'.repeat(1024 * 1024) } }));
  t.is(filled?.failure?.code, 'input_too_large');
  t.is(filled?.input.assignee, 'role:admin');
});

test('a graph compiles while the plugin of a type is away, and is filled in as the type says when it is back', (t) => {
  const graph = around({ type: 'files/copy', config: { fetch: 'http://h/{{input.text}}', raw: '{{oops}}' } });
  let types = nodeTypes();
  const { nodes } = compileGraph(graph, { get: (type) => types.get(type), names: () => types.names() });
  const node = nodes.get('x');
  t.is(node?.behavior, 'automatic');
  t.deepEqual(node?.fill(DATA).input, { fetch: 'http://h/a/b', raw: '{{oops}}' });
  types = nodeTypes(COPY_TYPE);
  t.deepEqual(node?.fill(DATA).input, { fetch: 'http://h/a%2Fb', raw: '{{oops}}' });
});

const INVALID: readonly (readonly [title: string, says: RegExp, change: (graph: LooseGraph) => void])[] = [
  ['no start', /0 start nodes/, ({ nodes }) => nodes.shift()],
  ['two starts', /2 start nodes/, ({ nodes }) => nodes.push({ id: 'again', type: 'start' })],
  ['an id twice', /same id/, ({ nodes }) => nodes.push({ id: 'end', type: 'end' })],
  ['a loose edge', /an edge does not lead/, ({ edges }) => edges.push({ from: 'ask', to: 'gone' })],
  ['a self loop', /an edge does not lead/, ({ edges }) => edges.push({ from: 'ask', to: 'ask' })],
  ['a cycle', /a cycle/, ({ edges }) => edges.push({ from: 'call', to: 'ask' })],
  ['a bad timeout', /is no duration/, ({ nodes }) => Object.assign(nodes[3].config, { timeout: 'x' })],
  [
    'a bad retry',
    /max_attempts/,
    ({ nodes }) => Object.assign(nodes[1].config, { retry: { max_attempts: 0 } }),
  ],
  [
    ...(['a bad delay', /is no duration/] as const),
    ({ nodes }) => Object.assign(nodes[1].config, { retry: { max_attempts: 2, delay: 'x' } }),
  ],
  [
    ...(['a bad path', /leads nowhere/] as const),
    ({ edges }) => Object.assign(edges[0], { condition: { field: 'a', op: 'eq', value: 1 } }),
  ],
];

for (const [title, message, change] of INVALID) {
  test(`what does not compile: ${title}`, (t) => {
    t.throws(() => compileGraph(changed(change) as Graph, TYPES), { message });
  });
}
