import test from 'ava';
import { definePlugin, type Plugin } from '../../../kernel/api/plugin.ts';
import { serviceRef } from '../../../kernel/api/refs.ts';
import { buildGraph } from '../../../kernel/host/graph.ts';

const [A, B, C] = ['a', 'b', 'c'].map((name) => serviceRef<object>(`${name}.service`)) as [Ref, Ref, Ref];
type Ref = ReturnType<typeof serviceRef<object>>;

function plugin(name: string, parts: Pick<Plugin, 'needs' | 'wants' | 'offers'> = {}): Plugin {
  return definePlugin({ name, summary: name, kernel: '^1.0.0', ...parts, setup: () => {} });
}

test('plugins come after those they need or want, and otherwise as they are given', (t) => {
  const graph = buildGraph([
    plugin('z', { offers: [A] }),
    plugin('m', { needs: { a: A }, offers: [B] }),
    plugin('b', { wants: { b: B } }),
    plugin('a'),
  ]);
  t.deepEqual(graph.order, ['z', 'm', 'b', 'a']);
});

test('dependents are found through others', (t) => {
  const graph = buildGraph([
    plugin('one', { offers: [A] }),
    plugin('two', { needs: { a: A }, offers: [B] }),
    plugin('three', { wants: { b: B } }),
    plugin('four'),
  ]);
  t.deepEqual([...graph.dependentsOf('one')], ['two', 'three']);
  t.is(graph.providers.get(A.id), 'one');
  t.is(graph.providers.get(C.id), undefined);
});

test('a cycle is refused and all its members are named', (t) => {
  const plugins = [
    plugin('one', { needs: { c: C }, offers: [A] }),
    plugin('two', { needs: { a: A }, offers: [B] }),
    plugin('three', { wants: { b: B }, offers: [C] }),
  ];
  t.throws(() => buildGraph(plugins), { name: 'PluginGraphError', message: /one → three → two → one/ });
});

test('two providers of one service are refused and both are named', (t) => {
  const plugins = [plugin('one', { offers: [A] }), plugin('two', { offers: [A] })];
  t.throws(() => buildGraph(plugins), { message: 'the service a.service is offered by both one and two' });
});
