import test from 'ava';
import fc from 'fast-check';
import {
  findCycles,
  linksOf,
  reachableFrom,
  topologicalOrder,
} from '../../../../../plugins/workflow/services/graph/links.ts';

/** Links of `ab bc` and so on. */
function links(text: string) {
  const edges = text.split(' ').map((pair) => ({ from: pair[0], to: pair[1] }));
  return linksOf([...new Set(text.replaceAll(' ', ''))], edges);
}

test('a cycle is the way from a node back to it', (t) => {
  t.deepEqual(findCycles(links('ab bc cd')), []);
  t.deepEqual(findCycles(links('sb bc ca ab ct')), [['a', 'b', 'c']]);
  t.deepEqual(findCycles(links('sb bc ca ab ct'), ['s', 'b', 'c', 'a']), [['b', 'c', 'a']]);
});

test('cycles that share no node are all told', (t) => {
  t.deepEqual(findCycles(links('ab ba bc cd dc de ef fe')), [
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'f'],
  ]);
});

test('a node between two cycles is in none', (t) => {
  t.deepEqual(findCycles(links('ab ba bx xc cd dc')), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

test('what was taken away with one cycle is not counted again when another one goes', (t) => {
  t.deepEqual(findCycles(links('hf fh dg bg ef de gb bf')), [
    ['f', 'h'],
    ['b', 'g'],
  ]);
});

test('there is either an order or a cycle, and each cycle is one', (t) => {
  const ids = [...'abcdefgh'];
  const edge = fc.record({ from: fc.constantFrom(...ids), to: fc.constantFrom(...ids) });
  fc.assert(
    fc.property(fc.array(edge, { maxLength: 16 }), (edges) => {
      const all = linksOf(ids, edges);
      const cycles = findCycles(all);
      t.is(topologicalOrder(all) === undefined, cycles.length > 0);
      for (const cycle of cycles) {
        t.true(cycle.length > 1);
        for (const [at, id] of cycle.entries()) {
          t.true(all.get(id)?.includes(cycle[(at + 1) % cycle.length]!));
        }
      }
      const inCycles = new Set(cycles.flat());
      t.is(inCycles.size, cycles.flat().length);
      const rest = edges.filter(({ from, to }) => !inCycles.has(from) && !inCycles.has(to));
      t.not(topologicalOrder(linksOf(ids, rest)), undefined);
    }),
    { numRuns: 1000 },
  );
});

test('neither cycles nor what can be reached depend on the order of the edges', (t) => {
  const ids = [...'abcdef'];
  const edge = fc.record({ from: fc.constantFrom(...ids), to: fc.constantFrom(...ids) });
  const shuffled = fc
    .array(edge, { minLength: 6, maxLength: 24 })
    .chain((edges) => fc.tuple(fc.constant(edges), fc.shuffledSubarray(edges, { minLength: edges.length })));
  fc.assert(
    fc.property(shuffled, ([edges, other]) => {
      const [one, two] = [linksOf(ids, edges), linksOf([...ids].reverse(), other)];
      t.deepEqual(findCycles(two), findCycles(one));
      t.deepEqual([...reachableFrom(['c'], two)], [...reachableFrom(['c'], one)]);
    }),
    { numRuns: 500 },
  );
});
