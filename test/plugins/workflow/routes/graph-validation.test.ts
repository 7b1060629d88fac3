import test from 'ava';
import { GRAPH_RULES, type GraphRule } from '../../../../plugins/workflow/services/graph/graph-schema.ts';
import { asking } from '../services/definitions/graphs.ts';
import { startDefinitions } from './definitions-gateway.ts';

const PATH = '/v1/workflow-definitions';

const start = { id: 'start', type: 'start' };
const end = { id: 'end', type: 'end' };
const work = (config: object = { prompt: 'Hello' }, type = 'agent_task') => ({ id: 'work', type, config });
const in_ = { from: 'start', to: 'work' };
const out = { from: 'work', to: 'end' };
/** start → work → end, with another node in the middle, or another edge out of it. */
const around = (node: object, edge: object = out) => ({ nodes: [start, node, end], edges: [in_, edge] });
const when = (condition: unknown, node: object = work()) => around(node, { ...out, condition });
const EQ = { field: 'input.a', op: 'eq', value: 1 };
const compare = (extra: object) => when({ ...EQ, ...extra });
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const call = (config: object) => around(work(config, 'service_task'));
const person = (config: object) => around(work(config, 'human_task'));

/** A graph for each rule, which breaks it, and where the answer says so. */
const BROKEN: Record<GraphRule, readonly (readonly [graph: unknown, pointer: string])[]> = {
  shape: [
    ['x', '/graph'],
    [null, '/graph'],
    [{ nodes: {}, edges: [] }, '/graph/nodes'],
    [{ nodes: [start, end] }, '/graph/edges'],
    [{ nodes: [start, 7, end], edges: [] }, '/graph/nodes/1'],
    [around({ id: 'work' }), '/graph/nodes/1/type'],
    [around(work(), { from: 'work' }), '/graph/edges/1/to'],
    [when('always'), '/graph/edges/1/condition'],
  ],
  'unknown-member': [
    [{ ...around(work()), title: 'x' }, '/graph/title'],
    [around({ ...work(), retries: 3 }), '/graph/nodes/1/retries'],
    [around(work(), { ...out, when: {} }), '/graph/edges/1/when'],
  ],
  'too-many-nodes': [
    [
      { nodes: Array.from({ length: 501 }, (_, n) => ({ id: `n${n}`, type: 'end' })), edges: [] },
      '/graph/nodes',
    ],
  ],
  'too-many-edges': [
    [{ nodes: [start, end], edges: Array(2_001).fill({ from: 'start', to: 'end' }) }, '/graph/edges'],
  ],
  'node-id': [
    [{ nodes: [start, end, { id: 'a.b', type: 'end' }], edges: [] }, '/graph/nodes/2/id'],
    [{ nodes: [start, end, { id: '', type: 'end' }], edges: [] }, '/graph/nodes/2/id'],
    [{ nodes: [start, end, { id: 'constructor', type: 'end' }], edges: [] }, '/graph/nodes/2/id'],
  ],
  'name-too-long': [[around({ ...work(), name: 'x'.repeat(201) }), '/graph/nodes/1/name']],
  'config-too-large': [
    [around(work({ prompt: 'x'.repeat(64 * 1024) })), '/graph/nodes/1/config'],
    [call({ url: 'https://a.example/', body: nested(70) }), '/graph/nodes/1/config'],
  ],
  'duplicate-node': [[{ nodes: [start, work(), work(), end], edges: [in_, out] }, '/graph/nodes/2/id']],
  'node-type': [
    [around(work({}, 'robot')), '/graph/nodes/1/type'],
    [around(work({}, 'acme/translate')), '/graph/nodes/1/type'],
  ],
  'start-count': [
    [{ nodes: [work(), end], edges: [out] }, '/graph/nodes'],
    [
      {
        nodes: [start, { id: 'two', type: 'start' }, end],
        edges: [
          { from: 'start', to: 'end' },
          { from: 'two', to: 'end' },
        ],
      },
      '/graph/nodes/1',
    ],
  ],
  'end-count': [[{ nodes: [start, work()], edges: [in_] }, '/graph/nodes']],
  'edge-endpoint': [[around(work(), { from: 'work', to: 'nowhere' }), '/graph/edges/1/to']],
  'self-loop': [
    [{ nodes: [start, work(), end], edges: [in_, out, { from: 'work', to: 'work' }] }, '/graph/edges/2'],
  ],
  cycle: [
    [
      {
        nodes: [start, work(), { ...work(), id: 'again' }, end],
        edges: [in_, out, { from: 'work', to: 'again' }, { from: 'again', to: 'work' }],
      },
      '/graph/edges/3',
    ],
  ],
  unreachable: [
    [
      {
        nodes: [start, work(), end, { ...work(), id: 'island' }],
        edges: [in_, out, { from: 'island', to: 'end' }],
      },
      '/graph/nodes/3',
    ],
  ],
  'start-incoming': [
    [{ nodes: [start, work(), end], edges: [in_, out, { from: 'work', to: 'start' }] }, '/graph/edges/2/to'],
  ],
  'dead-end': [
    [{ nodes: [start, work(), end], edges: [in_, { from: 'start', to: 'end' }] }, '/graph/nodes/1'],
  ],
  'end-outgoing': [
    [
      {
        nodes: [start, work(), end, { id: 'late', type: 'end' }],
        edges: [in_, out, { from: 'end', to: 'late' }],
      },
      '/graph/edges/2/from',
    ],
  ],
  'condition-form': [
    [when({}), '/graph/edges/1/condition'],
    [when({ outcome: 'ok', field: 'input.a', op: 'eq', value: 1 }), '/graph/edges/1/condition'],
  ],
  operator: [[compare({ op: 'like' }), '/graph/edges/1/condition/op']],
  'value-missing': [[when({ field: 'input.a', op: 'eq' }), '/graph/edges/1/condition/value']],
  'value-too-large': [[compare({ value: 'x'.repeat(16 * 1024) }), '/graph/edges/1/condition/value']],
  'exists-value': [[compare({ op: 'exists', value: 'yes' }), '/graph/edges/1/condition/value']],
  'too-many-comparisons': [
    [
      { nodes: [start, work(), end], edges: [in_, ...Array(101).fill({ ...out, condition: EQ })] },
      '/graph/edges/101',
    ],
  ],
  outcome: [[when({ outcome: 'x'.repeat(65) }, work({}, 'human_task')), '/graph/edges/1/condition/outcome']],
  'outcome-source': [[when({ outcome: 'ok' }), '/graph/edges/1/condition/outcome']],
  path: [
    [compare({ field: 'inputs.a' }), '/graph/edges/1/condition/field'],
    [compare({ field: 'steps.start.input.a' }), '/graph/edges/1/condition/field'],
  ],
  'path-depth': [
    [compare({ field: `input.${Array(40).fill('a').join('.')}` }), '/graph/edges/1/condition/field'],
  ],
  template: [[around(work({ prompt: 'Hello {{name}}' })), '/graph/nodes/1/config/prompt']],
  'unknown-node': [
    [around(work({ prompt: '{{steps.nobody.output.text}}' })), '/graph/nodes/1/config/prompt'],
    [compare({ field: 'steps.nobody.output.text' }), '/graph/edges/1/condition/field'],
  ],
  'config-missing': [
    [around(work({})), '/graph/nodes/1/config/prompt'],
    [call({}), '/graph/nodes/1/config/url'],
  ],
  'config-unknown': [
    [around(work({ prompt: 'x', temperature: 1 })), '/graph/nodes/1/config/temperature'],
    [{ nodes: [{ ...start, config: { a: 1 } }, work(), end], edges: [in_, out] }, '/graph/nodes/0/config'],
  ],
  'config-invalid': [
    [around(work({ prompt: 'x', max_iterations: 51 })), '/graph/nodes/1/config/max_iterations'],
    [person({ instructions: 7 }), '/graph/nodes/1/config/instructions'],
  ],
  url: [[call({ url: 'ftp://a.example/' }), '/graph/nodes/1/config/url']],
  'secret-host': [
    [
      call({ url: '{{input.callback_url}}', secret_headers: { Authorization: 'env:ACME_TOKEN' } }),
      '/graph/nodes/1/config/secret_headers',
    ],
    [
      call({ url: 'https://{{input.host}}/', secret_headers: { Authorization: 'env:ACME_TOKEN' } }),
      '/graph/nodes/1/config/secret_headers',
    ],
  ],
  method: [[call({ url: 'https://a.example/', method: 'FETCH' }), '/graph/nodes/1/config/method']],
  duration: [[person({ timeout: 'soon' }), '/graph/nodes/1/config/timeout']],
  retry: [
    [around(work({ prompt: 'x', retry: { max_attempts: 11 } })), '/graph/nodes/1/config/retry/max_attempts'],
  ],
  'retry-misplaced': [[person({ retry: { max_attempts: 2 } }), '/graph/nodes/1/config/retry']],
  'more-problems': [
    [{ nodes: Array.from({ length: 500 }, () => ({ id: 'a.b', type: 'robot', x: 1 })), edges: [] }, '/graph'],
  ],
};

test('every rule of graphs is told with its code and its place, at create and at PUT', async (t) => {
  const { request } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: { name: 'good', graph: asking('Hello') } }))
    .body;
  for (const [rule, cases] of Object.entries(BROKEN)) {
    t.true(cases.length > 0, rule);
    for (const [graph, pointer] of cases) {
      const what = `${rule}: ${JSON.stringify(graph).slice(0, 200)}`;
      const created = await request(PATH, { method: 'POST', body: { name: 'bad', graph } });
      t.deepEqual([created.status, created.body.code], [400, 'workflow.graph-invalid'], what);
      const errors: { code: string; pointer: string; message: string }[] = created.body.errors;
      const found = errors.filter(({ code }) => code === `workflow.graph.${rule}`);
      t.true(
        found.some((error) => error.pointer === `/body${pointer}` && error.message.length > 20),
        `${what}\n${JSON.stringify(errors.slice(0, 5), null, 1)}`,
      );
      const put = await request(`${PATH}/${id}`, { method: 'PUT', body: { graph } });
      t.deepEqual([put.status, put.body.errors], [400, errors], what);
    }
  }
  t.deepEqual(Object.keys(BROKEN).toSorted(), Object.keys(GRAPH_RULES).toSorted());
  const kept = (await request(PATH)).body;
  t.is(kept.total, 1);
  t.like(kept.workflow_definitions[0], { id, revision: 1, graph: asking('Hello') });
});

test('problems name the node or the edge that they are about', async (t) => {
  const { request } = await startDefinitions(t);
  const graph = around(work({}), { from: 'work', to: 'nowhere' });
  const { body } = await request(PATH, { method: 'POST', body: { name: 'bad', graph } });
  const told = (code: string) =>
    body.errors.find((error: { code: string }) => error.code === `workflow.graph.${code}`);
  t.like(told('config-missing'), { node: 'work', pointer: '/body/graph/nodes/1/config/prompt' });
  t.like(told('edge-endpoint'), { edge: 1, pointer: '/body/graph/edges/1/to' });
});

test('what is wrong with the graph and with the rest of the body is told in one answer', async (t) => {
  const { request } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: { name: 'good', graph: asking('Hello') } }))
    .body;
  const graph = around(work({}), { from: 'work', to: 'nowhere' });
  const alone = (await request(PATH, { method: 'POST', body: { name: 'bad', graph } })).body.errors;
  t.true(alone.length >= 2);
  for (const [method, path] of [
    ['POST', PATH],
    ['PUT', `${PATH}/${id}`],
  ] as const) {
    const ask = (body: object) => request(path, { method, body });
    const { status, body } = await ask({ name: '', descripton: 'x', graph });
    t.deepEqual([status, body.code], [400, 'workflow.graph-invalid'], method);
    t.regex(body.detail, /rules are broken, and the request has other faults/);
    t.deepEqual(
      body.errors
        .slice(0, 2)
        .map(({ pointer }: { pointer: string }) => pointer)
        .toSorted(),
      ['/body/descripton', '/body/name'],
    );
    t.deepEqual(body.errors.slice(2), alone);
    const sound = await ask({ name: '', graph: asking('Hello') });
    t.deepEqual([sound.status, sound.body.code, sound.body.errors.length], [400, 'request.invalid', 1]);
    const none = await ask({ name: 7 });
    t.is(none.body.code, 'request.invalid');
    const nothing = await ask({ name: 7, graph: null });
    t.deepEqual([nothing.body.code, nothing.body.errors.length], ['workflow.graph-invalid', 2]);
  }
  t.is((await request(PATH, { method: 'POST', body: [] })).body.code, 'request.invalid');
  t.is((await request(PATH)).body.total, 1);
});
