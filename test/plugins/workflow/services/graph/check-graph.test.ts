import test from 'ava';
import type { GraphProblem } from '../../../../../plugins/workflow/contract/graph.ts';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import { GRAPH_RULES, type GraphRule } from '../../../../../plugins/workflow/services/graph/graph-schema.ts';
import { changed, TYPES, VALID } from './kit.ts';

/** Breaks one rule. */
interface Row {
  readonly rule: GraphRule;
  /** The rule in the words of the specification, or of what is beyond it. */
  readonly title: string;
  readonly graph: unknown;
  readonly problem: Pick<GraphProblem, 'pointer' | 'node' | 'edge'>;
  readonly says: RegExp;
  /** Rules that the same mistake breaks too. */
  readonly also?: readonly GraphRule[];
}

const node = (index: number, member: string) => ({ pointer: `/nodes/${index}${member}`, node: ids[index] });
const edge = (index: number, member: string) => ({ pointer: `/edges/${index}${member}`, edge: index });
const ids = VALID.nodes.map(({ id }) => id);

const ROWS: readonly Row[] = [
  {
    rule: 'start-count',
    title: 'start nodes: exactly 1, and there is none',
    graph: changed(({ nodes }) => Object.assign(nodes[0], { type: 'agent_task', config: { prompt: 'Go' } })),
    problem: { pointer: '/nodes' },
    says: /no start node.*"type": "start"/,
  },
  {
    rule: 'start-count',
    title: 'start nodes: exactly 1, and there are two',
    graph: changed(({ nodes, edges }) => {
      nodes.push({ id: 'begin', type: 'start' });
      edges.push({ from: 'begin', to: 'ask' });
    }),
    problem: node(0, ''),
    says: /2 start nodes: "begin", "start"/,
  },
  {
    rule: 'end-count',
    title: 'end nodes: at least 1',
    graph: changed(({ nodes, edges }) => {
      nodes.pop();
      edges.splice(3, 2);
    }),
    problem: { pointer: '/nodes' },
    says: /no end node.*"type": "end"/,
    also: ['dead-end'],
  },
  {
    rule: 'node-type',
    title: 'node types: only the listed types',
    graph: changed(({ nodes }) => Object.assign(nodes[1], { type: 'agentTask' })),
    problem: node(1, '/type'),
    says: /"agentTask".*Did you mean "agent_task"\?.*start, end, human_task/,
  },
  {
    rule: 'self-loop',
    title: 'self loops: none',
    graph: changed(({ edges }) => edges.push({ from: 'ask', to: 'ask' })),
    problem: edge(5, ''),
    says: /"ask" → "ask" leads from a node to itself/,
  },
  {
    rule: 'cycle',
    title: 'cycles: none, and the path is told',
    graph: changed(({ edges }) => edges.push({ from: 'approve', to: 'ask' })),
    problem: edge(5, ''),
    says: /: ask → call → approve → ask\. Remove one/,
  },
  {
    rule: 'unreachable',
    title: 'connectivity: every node reachable from start',
    graph: changed(({ nodes, edges }) => {
      nodes.push({ id: 'island', type: 'human_task' });
      edges.push({ from: 'island', to: 'end' });
    }),
    problem: { pointer: '/nodes/5', node: 'island' },
    says: /"island" cannot be reached/,
  },
  {
    rule: 'operator',
    title: 'condition operators: only the listed operators',
    graph: withCondition({ field: 'input.a', op: 'startswith', value: 'b' }),
    problem: edge(0, '/condition/op'),
    says: /"startswith".*Did you mean "startsWith"\?/,
  },
  {
    rule: 'edge-endpoint',
    title: 'unknown edge endpoint',
    graph: changed(({ edges }) => Object.assign(edges[4], { to: 'ende' })),
    problem: edge(4, '/to'),
    says: /no node "ende"\. Did you mean "end"\?/,
  },
  {
    rule: 'duplicate-node',
    title: 'duplicate node id',
    graph: changed(({ nodes }) => nodes.push({ id: 'end', type: 'end' })),
    problem: { pointer: '/nodes/5/id', node: 'end' },
    says: /More than one node has the id "end"/,
  },
  {
    rule: 'dead-end',
    title: 'non-end node without outgoing edge',
    graph: changed(({ nodes, edges }) => {
      nodes.push({ id: 'lost', type: 'human_task' });
      edges.push({ from: 'ask', to: 'lost' });
    }),
    problem: { pointer: '/nodes/5', node: 'lost' },
    says: /"lost" leads nowhere/,
  },
  {
    rule: 'end-outgoing',
    title: 'end node with an outgoing edge',
    graph: changed(({ nodes, edges }) => {
      nodes.push({ id: 'after', type: 'end' });
      edges.push({ from: 'end', to: 'after' });
    }),
    problem: edge(5, '/from'),
    says: /"end" → "after" leaves an end node/,
  },
  {
    rule: 'start-incoming',
    title: 'an edge to the start that closes a cycle',
    graph: changed(({ edges }) => edges.push({ from: 'ask', to: 'start' })),
    problem: edge(5, '/to'),
    says: /leads to the start node/,
    also: ['cycle'],
  },
  {
    rule: 'start-incoming',
    title: 'an edge to the start that closes no cycle',
    graph: changed(({ nodes, edges }) => {
      nodes.push({ id: 'before', type: 'human_task' });
      edges.push({ from: 'before', to: 'start' });
    }),
    problem: edge(5, '/to'),
    says: /leads to the start node/,
    also: ['unreachable'],
  },
  {
    rule: 'condition-form',
    title: 'a condition with neither form',
    graph: withCondition({}),
    problem: edge(0, '/condition'),
    says: /has neither form. Write either/,
  },
  {
    rule: 'condition-form',
    title: 'a condition with both forms',
    graph: withCondition({ outcome: 'yes', field: 'input.a', op: 'eq', value: 1 }),
    problem: edge(0, '/condition'),
    says: /mixes both forms/,
  },
  {
    rule: 'condition-form',
    title: 'a condition without its field',
    graph: withCondition({ op: 'eq', value: 1 }),
    problem: edge(0, '/condition/field'),
    says: /lacks "field"/,
  },
  {
    rule: 'condition-form',
    title: 'a condition without its operator',
    graph: withCondition({ field: 'input.a', value: 1 }),
    problem: edge(0, '/condition/op'),
    says: /lacks "op"/,
  },
  {
    rule: 'value-missing',
    title: 'a condition without a value',
    graph: withCondition({ field: 'input.a', op: 'eq' }),
    problem: edge(0, '/condition/value'),
    says: /lacks "value": what to compare with/,
  },
  {
    rule: 'value-too-large',
    title: 'a value of 17 KiB',
    graph: withCondition({ field: 'input.a', op: 'eq', value: 'x'.repeat(17 * 1024) }),
    problem: edge(0, '/condition/value'),
    says: /16 KiB/,
  },
  {
    rule: 'exists-value',
    title: 'exists with a value that is no boolean',
    graph: withCondition({ field: 'input.a', op: 'exists', value: 'true' }),
    problem: edge(0, '/condition/value'),
    says: /must be true or false; it is a string/,
  },
  {
    rule: 'too-many-comparisons',
    title: 'more edges that compare than are asked when a node completes',
    graph: changed(({ edges }) =>
      edges.push(
        ...Array.from({ length: 101 }, (_, value) => ({
          from: 'start',
          to: 'ask',
          condition: { field: 'input.a', op: 'eq', value },
        })),
      ),
    ),
    problem: edge(105, ''),
    says: /comparison 101 of those that leave "start"; 100 are allowed/,
  },
  {
    rule: 'outcome',
    title: 'an outcome of more than 64 characters',
    graph: changed(({ edges }) => Object.assign(edges[3], { condition: { outcome: 'y'.repeat(65) } })),
    problem: edge(3, '/condition/outcome'),
    says: /1 to 64 characters; this one has 65/,
  },
  {
    rule: 'outcome',
    title: 'an empty outcome',
    graph: changed(({ edges }) => Object.assign(edges[3], { condition: { outcome: '' } })),
    problem: edge(3, '/condition/outcome'),
    says: /this one has 0/,
  },
  {
    rule: 'outcome-source',
    title: 'an outcome edge that leaves an automatic node',
    graph: changed(({ edges }) => Object.assign(edges[1], { condition: { outcome: 'yes' } })),
    problem: edge(1, '/condition/outcome'),
    says: /"ask" is a node of type agent_task/,
  },
  {
    rule: 'outcome-source',
    title: 'an outcome edge that leaves the start',
    graph: withCondition({ outcome: 'yes' }),
    problem: edge(0, '/condition/outcome'),
    says: /"start" is a node of type start/,
  },
  {
    rule: 'unknown-node',
    title: 'a condition that names an unknown node',
    graph: withCondition({ field: 'steps.aks.output.text', op: 'eq', value: 1 }),
    problem: edge(0, '/condition/field'),
    says: /the node "aks".*not in the graph/,
  },
  {
    rule: 'unknown-node',
    title: 'a template that names an unknown node',
    graph: withConfig(1, { prompt: 'Sum up {{steps.aprove.output.a}}' }),
    problem: node(1, '/config/prompt'),
    says: /"aprove".*Did you mean "approve"\?/,
  },
  {
    rule: 'path',
    title: 'bad path syntax',
    graph: withCondition({ field: 'inputs.a', op: 'eq', value: 1 }),
    problem: edge(0, '/condition/field'),
    says: /leads nowhere.*Did you mean "input"\?/,
  },
  {
    rule: 'path-depth',
    title: 'a path of more than 32 names in a condition',
    graph: withCondition({ field: `input${'.a'.repeat(32)}`, op: 'eq', value: 1 }),
    problem: edge(0, '/condition/field'),
    says: /has 33 names/,
  },
  {
    rule: 'path-depth',
    title: 'a path of more than 32 names in a template',
    graph: withConfig(1, { prompt: `{{input${'.a'.repeat(32)}}}` }),
    problem: node(1, '/config/prompt'),
    says: /has 33 names/,
  },
  {
    rule: 'template',
    title: 'a template expression without a path',
    graph: withConfig(2, { url: 'https://a.example', body: { deep: ['ok', { text: 'Hello {{foo}}' }] } }),
    problem: node(2, '/config/body/deep/1/text'),
    says: /"\{\{foo\}\}", which leads nowhere: a path begins with/,
  },
  {
    rule: 'template',
    title: 'a template expression that leaves out the output',
    graph: withConfig(1, { prompt: '{{steps.call.foo}}' }),
    problem: node(1, '/config/prompt'),
    says: /needs "output" after the node: steps\.call\.output\.<field>/,
  },
  {
    rule: 'config-missing',
    title: 'missing config: prompt',
    graph: withConfig(1, undefined),
    problem: node(1, '/config/prompt'),
    says: /"ask" \(agent_task\): config\/prompt is missing/,
  },
  {
    rule: 'config-missing',
    title: 'missing config: url',
    graph: withConfig(2, { method: 'GET' }),
    problem: node(2, '/config/url'),
    says: /config\/url is missing/,
  },
  {
    rule: 'config-unknown',
    title: 'an unknown member of a task’s configuration',
    graph: withConfig(1, { prompt: 'Go', maxIterations: 3 }),
    problem: node(1, '/config/maxIterations'),
    says: /Did you mean "max_iterations"\? Known are prompt, /,
  },
  {
    rule: 'config-unknown',
    title: 'an unknown member of a human task, such as a form',
    graph: withConfig(3, { form: {} }),
    problem: node(3, '/config/form'),
    says: /is not known\. Known are assignee, instructions, timeout/,
  },
  {
    rule: 'config-unknown',
    title: 'a configuration of a start node',
    graph: withConfig(0, { prompt: 'Go' }),
    problem: node(0, '/config'),
    says: /type start, which has no configuration/,
  },
  {
    rule: 'config-invalid',
    title: 'more than 50 iterations',
    graph: withConfig(1, { prompt: 'Go', max_iterations: 51 }),
    problem: node(1, '/config/max_iterations'),
    says: /must be <= 50/,
  },
  {
    rule: 'url',
    title: 'a URL that is neither http nor https',
    graph: withConfig(2, { url: 'ftp://example.com/' }),
    problem: node(2, '/config/url'),
    says: /must begin with http/,
  },
  {
    rule: 'secret-host',
    title: 'a secret for a host that data of the run choose',
    graph: withConfig(2, {
      url: '{{input.callback_url}}',
      secret_headers: { Authorization: 'Bearer env:ACME_TOKEN' },
    }),
    problem: node(2, '/config/secret_headers'),
    says: /Write scheme and host of "url" out/,
  },
  {
    rule: 'method',
    title: 'unknown method',
    graph: withConfig(2, { url: 'https://a.example', method: 'FETCH' }),
    problem: node(2, '/config/method'),
    says: /GET, POST, PUT, PATCH, DELETE, HEAD/,
  },
  {
    rule: 'duration',
    title: 'bad duration of a human task',
    graph: withConfig(3, { timeout: 'soon' }),
    problem: node(3, '/config/timeout'),
    says: /is no duration\. Write a duration like "30s"/,
  },
  {
    rule: 'duration',
    title: 'bad duration of a retry',
    graph: withConfig(1, { prompt: 'Go', retry: { max_attempts: 2, delay: '1 s' } }),
    problem: node(1, '/config/retry/delay'),
    says: /is no duration/,
  },
  {
    rule: 'retry',
    title: 'more than 10 attempts',
    graph: withConfig(1, { prompt: 'Go', retry: { max_attempts: 11 } }),
    problem: node(1, '/config/retry/max_attempts'),
    says: /must be <= 10/,
  },
  {
    rule: 'retry-misplaced',
    title: 'a retry of a human task',
    graph: withConfig(3, { retry: { max_attempts: 2 } }),
    problem: node(3, '/config/retry'),
    says: /is a human task, which cannot have a "retry"/,
  },
  {
    rule: 'shape',
    title: 'nodes that are no array',
    graph: { nodes: {}, edges: [] },
    problem: { pointer: '/nodes' },
    says: /"nodes" must be an array; it is an object/,
  },
  {
    rule: 'shape',
    title: 'edges that are missing',
    graph: { nodes: [] },
    problem: { pointer: '/edges' },
    says: /"edges" must be an array; it is missing/,
  },
  {
    rule: 'shape',
    title: 'a node that is no object',
    graph: changed(({ nodes }) => nodes.push('x')),
    problem: { pointer: '/nodes/5' },
    says: /Node 5 must be an object; it is a string/,
  },
  {
    rule: 'shape',
    title: 'a name that is no string',
    graph: changed(({ nodes }) => Object.assign(nodes[1], { name: 5 })),
    problem: node(1, '/name'),
    says: /Node "ask": "name" must be a string; it is a number/,
  },
  {
    rule: 'shape',
    title: 'a configuration that is null',
    graph: changed(({ nodes }) => Object.assign(nodes[4], { config: null })),
    problem: node(4, '/config'),
    says: /"config" must be an object, or left out; it is null/,
  },
  {
    rule: 'shape',
    title: 'a condition that is an array',
    graph: withCondition([]),
    problem: edge(0, '/condition'),
    says: /"condition" must be an object, or left out; it is an array/,
  },
  {
    rule: 'shape',
    title: 'a value that is no JSON',
    graph: withCondition({ field: 'input.a', op: 'eq', value: Number.NaN }),
    problem: edge(0, '/condition/value'),
    says: /is no JSON/,
  },
  {
    rule: 'unknown-member',
    title: 'an unknown member of the graph',
    graph: { ...VALID, vertices: [] },
    problem: { pointer: '/vertices' },
    says: /The graph has a member "vertices".*Known are nodes, edges/,
  },
  {
    rule: 'unknown-member',
    title: 'an unknown member of a node',
    graph: changed(({ nodes }) => Object.assign(nodes[1], { 'con/fig': {} })),
    problem: node(1, '/con~1fig'),
    says: /Node "ask" has a member "con\/fig".*Did you mean "config"\?/,
  },
  {
    rule: 'unknown-member',
    title: 'an unknown member of an edge',
    graph: changed(({ edges }) => Object.assign(edges[1], { label: 'then' })),
    problem: edge(1, '/label'),
    says: /"ask" → "call" has a member "label"/,
  },
  {
    rule: 'unknown-member',
    title: 'an unknown member of a condition',
    graph: withCondition({ field: 'input.a', op: 'eq', value: 1, not: true }),
    problem: edge(0, '/condition/not'),
    says: /the condition has a member "not"/,
  },
  {
    rule: 'too-many-nodes',
    title: 'more than 500 nodes',
    graph: { nodes: Array.from({ length: 501 }, (_, n) => ({ id: `n${n}`, type: 'end' })), edges: [] },
    problem: { pointer: '/nodes' },
    says: /501 nodes; 500 are allowed/,
  },
  {
    rule: 'too-many-edges',
    title: 'more than 2,000 edges',
    graph: { ...VALID, edges: Array.from({ length: 2_001 }, () => VALID.edges[0]) },
    problem: { pointer: '/edges' },
    says: /2001 edges; 2000 are allowed/,
  },
  {
    rule: 'node-id',
    title: 'an id with a dot',
    graph: renamed('a.b'),
    problem: { pointer: '/nodes/1/id', node: 'a.b' },
    says: /1 to 64 of the characters/,
  },
  {
    rule: 'node-id',
    title: 'an id of 65 characters',
    graph: renamed('a'.repeat(65)),
    problem: { pointer: '/nodes/1/id', node: 'a'.repeat(65) },
    says: /1 to 64 of the characters/,
  },
  ...['__proto__', 'constructor', 'prototype'].map(
    (id): Row => ({
      rule: 'node-id',
      title: `the id ${id}`,
      graph: renamed(id),
      problem: { pointer: '/nodes/1/id', node: id },
      says: /cannot have the id/,
    }),
  ),
  {
    rule: 'name-too-long',
    title: 'a name of 201 characters',
    graph: changed(({ nodes }) => Object.assign(nodes[1], { name: 'n'.repeat(201) })),
    problem: node(1, '/name'),
    says: /201 characters; 200 are allowed/,
  },
  {
    rule: 'config-too-large',
    title: 'a configuration of more than 64 KiB',
    graph: withConfig(1, { prompt: 'é'.repeat(33 * 1024) }),
    problem: node(1, '/config'),
    says: /64 KiB of JSON/,
  },
  {
    rule: 'config-too-large',
    title: 'a configuration of more than 64 levels',
    graph: withConfig(2, { url: 'https://a.example', body: nested(64) }),
    problem: node(2, '/config'),
    says: /on 64 levels/,
  },
  {
    rule: 'more-problems',
    title: 'more problems than are told',
    graph: changed(({ edges }) => {
      for (let i = 0; i < 501; i += 1) edges.push({ from: `from${i}`, to: `to${i}` });
    }),
    problem: { pointer: '' },
    says: /more problems/,
    also: ['edge-endpoint'],
  },
];

for (const { rule, title, graph, problem, says, also = [] } of ROWS) {
  test(`${rule}: ${title}`, (t) => {
    const problems = checkGraph(graph, TYPES);
    const found = problems.filter(({ code }) => code === `workflow.graph.${rule}`);
    t.is(found.length, 1, JSON.stringify(problems));
    const [{ code: _, message, ...place } = { code: '', message: '' }] = found;
    t.deepEqual(place as typeof problem, problem);
    t.regex(message, says);
    const others = new Set(problems.map(({ code }) => code.replace('workflow.graph.', '')));
    others.delete(rule);
    t.deepEqual([...others], [...also]);
  });
}

test('every rule has a row', (t) => {
  t.deepEqual([...new Set(ROWS.map(({ rule }) => rule))].sort(), Object.keys(GRAPH_RULES).sort());
});

test('a graph that keeps all rules has no problems', (t) => {
  t.deepEqual(checkGraph(VALID, TYPES), []);
});

test('all problems are told at once', (t) => {
  const graph = changed(({ nodes, edges }) => {
    nodes[1].config = { max_iterations: 0 };
    nodes[2].config = { url: 'mailto:a', method: 'NO', headers: { 'bad name': 'x' }, body: '{{oops}}' };
    nodes[3].config = { timeout: '-1s', retry: {} };
    edges[0].condition = { field: 'env.HOME', op: 'is' };
    edges.push({ from: 'end', to: 'strat' });
  });
  const rules = checkGraph(graph, TYPES).map(({ code, pointer }) => `${code.slice(15)} ${pointer}`);
  t.deepEqual(rules, [
    'config-missing /nodes/1/config/prompt',
    'config-invalid /nodes/1/config/max_iterations',
    'template /nodes/2/config/body',
    'url /nodes/2/config/url',
    'method /nodes/2/config/method',
    'config-invalid /nodes/2/config/headers/bad name',
    'retry-misplaced /nodes/3/config/retry',
    'duration /nodes/3/config/timeout',
    'path /edges/0/condition/field',
    'operator /edges/0/condition/op',
    'value-missing /edges/0/condition/value',
    'edge-endpoint /edges/5/to',
    'end-outgoing /edges/5/from',
  ]);
});

test('a self loop leads nowhere', (t) => {
  const graph = changed(({ nodes, edges }) => {
    nodes.push({ id: 'lost', type: 'human_task' });
    edges.push({ from: 'ask', to: 'lost' }, { from: 'lost', to: 'lost' });
  });
  t.deepEqual(
    checkGraph(graph, TYPES).map(({ code, node }) => [code, node]),
    [
      ['workflow.graph.self-loop', undefined],
      ['workflow.graph.dead-end', 'lost'],
    ],
  );
});

test('duplicate edges, forks, joins and plugin types are fine', (t) => {
  const graph = changed(({ nodes, edges }) => {
    nodes.push({
      id: 'copy',
      type: 'files/copy',
      config: { fetch: '{{input.url}}', raw: '{{not a template' },
    });
    edges.push({ from: 'start', to: 'copy' }, { from: 'copy', to: 'end' }, { from: 'copy', to: 'end' });
    edges.push({ from: 'start', to: 'ask' });
  });
  t.deepEqual(checkGraph(graph, TYPES), []);
});

test('a value of another kind than the operator is about is fine: it does not match', (t) => {
  for (const op of ['gt', 'gte', 'lt', 'lte', 'startsWith', 'endsWith', 'contains']) {
    t.deepEqual(checkGraph(withDefault({ field: 'input.a', op, value: { b: null } }), TYPES), []);
  }
});

test('a type whose plugin is away is told as unknown', (t) => {
  const graph = withConfig(1, undefined);
  graph.nodes[1].type = 'files/move';
  const [problem] = checkGraph(graph, TYPES);
  t.regex(
    problem?.message ?? '',
    /"files\/move".*files\/copy; types of a plugin are there while it is enabled/,
  );
});

test('a type that is not known, or not there, hides nothing of what holds for all types', (t) => {
  const config = {
    url: 'https://a.example',
    body: '{{oops}} {{steps.nobody.output}}',
    retry: { max_attempts: 0, delay: 'x' },
  };
  for (const type of ['robot', undefined]) {
    const graph = withConfig(2, config);
    graph.nodes[2].type = type;
    graph.nodes.push({ id: 'large', type, config: { a: 'x'.repeat(64 * 1024) } });
    graph.edges.push({ from: 'start', to: 'large' }, { from: 'large', to: 'end' });
    const problems = checkGraph(graph, TYPES);
    t.deepEqual(
      problems.map(({ code, pointer }) => `${code.slice(15)} ${pointer}`).toSorted(),
      [
        'config-too-large /nodes/5/config',
        'duration /nodes/2/config/retry/delay',
        ...['/nodes/2/type', '/nodes/5/type'].map(
          (pointer) => `${type === undefined ? 'shape' : 'node-type'} ${pointer}`,
        ),
        'retry /nodes/2/config/retry/max_attempts',
        'template /nodes/2/config/body',
        'unknown-node /nodes/2/config/body',
      ].toSorted(),
    );
    t.false(problems.some(({ message }) => message.includes('undefined')));
  }
});

test('what is about one node id that two nodes have is not guessed', (t) => {
  const graph = changed(({ nodes }) => nodes.push({ id: 'end', type: 'human_task' }));
  t.deepEqual(
    checkGraph(graph, TYPES).map(({ code }) => code),
    ['workflow.graph.duplicate-node'],
  );
});

test('an outcome that leaves a node of an unknown type, or of two types, is not guessed at', (t) => {
  const unknown = changed(({ nodes }) => Object.assign(nodes[3], { type: 'humantask' }));
  const twice = changed(({ nodes }) =>
    nodes.unshift({ id: 'approve', type: 'agent_task', config: { prompt: 'x' } }),
  );
  const codes = [unknown, twice].map((graph) => checkGraph(graph, TYPES).map(({ code }) => code.slice(15)));
  t.deepEqual(codes, [['node-type'], ['duplicate-node']]);
});

test('what is no graph at all is told so', (t) => {
  for (const graph of [null, undefined, 5, 'graph', []]) {
    const [problem, ...more] = checkGraph(graph, TYPES);
    t.is(problem?.pointer, '');
    t.regex(problem?.message ?? '', /A graph is an object with "nodes" and "edges"/);
    t.is(more.length, 0);
  }
});

/** The valid graph with a condition on its first edge, and the same edge without one beside it. */
function withCondition(condition: unknown) {
  return changed(({ edges }) => Object.assign(edges[0], { condition }));
}

function withDefault(condition: unknown) {
  return changed(({ edges }) => edges.push({ from: 'start', to: 'ask', condition }));
}

function withConfig(index: number, config: unknown) {
  return changed(({ nodes }) => Object.assign(nodes[index], { config }));
}

/** The valid graph with another id of `ask`. */
function renamed(id: string) {
  return changed(({ nodes, edges }) => {
    nodes[1].id = id;
    edges[0].to = id;
    edges[1].from = id;
    nodes[2].config = { url: 'https://a.example' };
  });
}

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
