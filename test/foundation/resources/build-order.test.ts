import test from 'ava';
import fc from 'fast-check';
import { buildOrder, wayAround } from '../../../foundation/resources/build-order.ts';

const graph = fc
  .array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 })
  .map(
    (edges) =>
      new Map(
        Array.from({ length: 8 }, (_, node) => [
          `n${node}`,
          edges.filter(([from]) => from === node).map(([, to]) => `n${to}`),
        ]),
      ),
  );

/** Everything that can be reached from a node in one step or more. */
function reach(needs: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const found = new Set<string>();
  const open = [...(needs.get(from) ?? [])];
  for (const node of open) {
    if (found.has(node)) continue;
    found.add(node);
    open.push(...(needs.get(node) ?? []));
  }
  return found;
}

test('everything comes after what it needs, and what needs itself is in a circle with a way around it', (t) => {
  fc.assert(
    fc.property(graph, (needs) => {
      const { order, circles } = buildOrder(needs);
      const inCircle = new Set(circles.flat());
      t.is(order.length + inCircle.size, needs.size);
      for (const [at, node] of order.entries()) {
        t.false(reach(needs, node).has(node));
        for (const need of needs.get(node)!) t.true(inCircle.has(need) || order.indexOf(need) < at);
      }
      for (const circle of circles) {
        for (const node of circle) {
          const way = wayAround(node, new Set(circle), needs);
          t.is(way[0], node);
          t.is(way.at(-1), node);
          for (const [index, step] of way.slice(1).entries()) t.true(needs.get(way[index]!)!.includes(step));
        }
      }
    }),
  );
});

test('the order depends on the graph alone', (t) => {
  fc.assert(
    fc.property(graph, (needs) => {
      t.deepEqual(buildOrder(new Map([...needs].reverse())), buildOrder(needs));
    }),
  );
});

test('a chain of ten thousand is ordered', (t) => {
  const needs = new Map(Array.from({ length: 10_000 }, (_, at) => [`n${at}`, [`n${at + 1}`]]));
  const { order, circles } = buildOrder(needs);
  t.deepEqual([order.length, order[0], order.at(-1), circles], [10_000, 'n9999', 'n0', []]);
});

test('needs that are no nodes do not count', (t) => {
  t.deepEqual(buildOrder(new Map([['a', ['elsewhere']]])), { order: ['a'], circles: [] });
});
