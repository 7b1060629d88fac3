import test from 'ava';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import { around, changed, TYPES, VALID } from './kit.ts';

/** What is wrong, without how often. */
function rulesOf(graph: unknown): readonly string[] {
  return [...new Set(checkGraph(graph, TYPES).map(({ code }) => code.replace('workflow.graph.', '')))];
}

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

test('100,000 edges are refused without being looked at', (t) => {
  let looked = 0;
  const look = () => {
    looked += 1;
    return undefined;
  };
  const edge = new Proxy({}, { get: look, getOwnPropertyDescriptor: look });
  const edges = Array.from({ length: 100_000 }, () => edge);
  t.deepEqual(rulesOf({ ...VALID, edges }), ['too-many-edges']);
  t.is(looked, 0);
});

test('500 nodes with 2,000 edges that all name nodes nearly right end with 1,000 problems', (t) => {
  const pad = (n: number, last: string) => `${String(n).padStart(63, 'n')}${last}`;
  const nodes = Array.from({ length: 500 }, (_, n) => ({ id: pad(n, 'a'), type: 'human_task' }));
  const edges = Array.from({ length: 2_000 }, (_, n) => ({ from: pad(n % 500, 'b'), to: pad(n % 499, 'c') }));
  const problems = checkGraph({ nodes, edges }, TYPES);
  t.is(problems.length, 1_001);
  t.is(problems.at(-1)?.code, 'workflow.graph.more-problems');
  t.true(problems.some(({ message }) => message.includes('Did you mean')));
});

test('a graph in which everything leads to everything is one cycle after another', (t) => {
  const ids = Array.from({ length: 44 }, (_, n) => `n${n}`);
  const nodes = [...ids.map((id) => ({ id, type: 'human_task' })), { id: 'end', type: 'end' }];
  const edges = ids.flatMap((from) => ids.filter((to) => to !== from).map((to) => ({ from, to })));
  const problems = checkGraph({ nodes, edges }, TYPES).filter(({ code }) => code.endsWith('.cycle'));
  t.is(problems.length, 22);
});

test('a chain of 500 nodes that ends where it began is a cycle that is shown in part', (t) => {
  const nodes = Array.from({ length: 500 }, (_, n) => ({ id: `n${n}`, type: 'human_task' }));
  const edges = nodes.map(({ id }, n) => ({ from: id, to: `n${(n + 1) % 500}` }));
  const [cycle] = checkGraph({ nodes, edges }, TYPES).filter(({ code }) => code.endsWith('.cycle'));
  t.regex(cycle?.message ?? '', /n0 → n1 → .* → … → n0\. Remove/);
});

test('a configuration, a value and a graph that are nested 100,000 times are refused', (t) => {
  const body = nested(100_000);
  t.deepEqual(rulesOf(around({ type: 'service_task', config: { url: 'http://a', body } as never })), [
    'config-too-large',
  ]);
  const condition = { field: 'input.a', op: 'eq', value: body };
  t.deepEqual(rulesOf(changed(({ edges }) => edges.push({ from: 'start', to: 'ask', condition }))), [
    'value-too-large',
  ]);
  t.deepEqual(rulesOf(body), ['unknown-member', 'shape']);
  t.deepEqual(rulesOf({ nodes: body, edges: body }), ['shape']);
});

test('a value that holds itself, and one that is shared a trillion times, are refused', (t) => {
  const own: Record<string, unknown> = {};
  own.own = own;
  let shared: unknown = 'x'.repeat(10);
  for (let level = 0; level < 12; level += 1) shared = Array.from({ length: 10 }, () => shared);
  for (const body of [own, shared]) {
    t.deepEqual(rulesOf(around({ type: 'service_task', config: { url: 'http://a', body } as never })), [
      'config-too-large',
    ]);
  }
});

test('a text of nothing but braces is read in one go', (t) => {
  const texts = ['{'.repeat(60_000), '{{'.repeat(30_000), '{{}}'.repeat(15_000), '}}'.repeat(30_000)];
  const rules = texts.map((prompt) => rulesOf(around({ type: 'agent_task', config: { prompt } })));
  t.deepEqual(rules, [[], [], ['template'], []]);
});

test('paths that are long, deep or made of dots are refused', (t) => {
  for (const field of ['.'.repeat(1_000), `input.${'a.'.repeat(400)}a`]) {
    t.deepEqual(rulesOf(withField(field)), ['path-depth']);
  }
  t.deepEqual(rulesOf(withField(`input.${'a'.repeat(100_000)}`)), ['path']);
});

test('names that mean something to JavaScript objects are just names', (t) => {
  const named = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length'];
  for (const name of named) {
    const member = JSON.parse(`{"nodes": [], "edges": [], ${JSON.stringify(name)}: {"x": 1}}`);
    t.true(rulesOf(member).includes('unknown-member'), name);
    t.deepEqual(
      rulesOf(changed(({ nodes }) => Object.assign(nodes[1], { type: name }))),
      ['node-type'],
      name,
    );
    t.deepEqual(rulesOf(withField(`steps.${name}.output.a`)), ['unknown-node'], name);
    t.deepEqual(rulesOf(withField(`input.${name}`)), [], name);
    const config = JSON.parse(`{"prompt": "Go", ${JSON.stringify(name)}: {"x": 1}}`);
    t.deepEqual(rulesOf(around({ type: 'agent_task', config })), ['config-unknown'], name);
  }
  t.is(({} as { x?: number }).x, undefined);
});

test('inherited members are no members of a graph', (t) => {
  const graph = Object.create(VALID);
  t.deepEqual(rulesOf(graph), ['shape']);
  const node = Object.create(VALID.nodes[1]);
  t.deepEqual(rulesOf(changed(({ nodes }) => nodes.splice(1, 1, node))).slice(0, 1), ['shape']);
});

test('messages show names on one line and not longer than 80 characters', (t) => {
  const id = `a\n\u001b[31m${'x'.repeat(100_000)}`;
  const problems = checkGraph(
    changed(({ nodes }) => nodes.push({ id, type: id, [id]: 1 })),
    TYPES,
  );
  t.true(problems.length >= 3);
  for (const { message } of problems) {
    t.true(message.length < 1_000, message);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    t.notRegex(message, /[\u0000-\u001f]/);
  }
});

test('messages show nothing of the values of a configuration', (t) => {
  const secret = 'sk-live-4242424242';
  const problems = [
    { url: `ftp://${secret}`, method: secret, headers: { authorization: `Bearer ${secret}\n` } },
    { url: `https://user:${secret}@example.com/`, retry: { max_attempts: 2, delay: secret } },
    { url: 5, retry: secret, body: { secret } },
  ].flatMap((config) => checkGraph(around({ type: 'service_task', config: config as never }), TYPES));
  t.is(problems.length, 7);
  t.false(JSON.stringify(problems).includes(secret));
});

function withField(field: string) {
  const condition = { field, op: 'eq', value: 1 };
  return changed(({ edges }) => edges.push({ from: 'start', to: 'ask', condition }));
}
