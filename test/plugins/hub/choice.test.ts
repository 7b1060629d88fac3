import test from 'ava';
import fc from 'fast-check';
import { type Candidate, chooseNodes } from '../../../plugins/hub/rules/choice.ts';

const network = fc
  .uniqueArray(
    fc.record({ id: fc.string({ maxLength: 3 }), owner: fc.constantFrom('a', 'b', 'c', 'd', null) }),
    {
      selector: ({ id }) => id,
      minLength: 1,
      maxLength: 40,
    },
  )
  .map((nodes): readonly Candidate[] => nodes);
const limitOf = fc.integer({ min: 1, max: 12 });

test('a search asks as many nodes as it may, and none of an owner’s while another has fewer and more to give', (t) => {
  const anyTurns = fc.dictionary(fc.string({ maxLength: 3 }), fc.nat(9));
  fc.assert(
    fc.property(network, limitOf, anyTurns, (nodes, limit, turns) => {
      const chosen = chooseNodes(nodes, limit, (id) => turns[id] ?? 0);
      t.is(chosen.length, Math.min(limit, nodes.length));
      t.is(new Set(chosen).size, chosen.length);
      const owners = [...Map.groupBy(nodes, ({ owner }) => owner).values()].map((owned) => ({
        all: owned.length,
        places: owned.filter(({ id }) => chosen.includes(id)).length,
      }));
      const most = Math.max(...owners.map(({ places }) => places));
      for (const { all, places } of owners) t.true(places === all || places >= most - 1);
    }),
  );
});

test('every node has its turn, however many others there are', (t) => {
  fc.assert(
    fc.property(network, limitOf, (nodes, limit) => {
      const askedIn = new Map<string, number>();
      const owners = Map.groupBy(nodes, ({ owner }) => owner);
      const longest = Math.max(...[...owners.values()].map((owned) => owned.length));
      for (let search = 1; search <= owners.size * longest; search += 1)
        for (const id of chooseNodes(nodes, limit, (one) => askedIn.get(one) ?? 0)) askedIn.set(id, search);
      t.is(askedIn.size, nodes.length);
    }),
  );
});

test('of more owners than places each has its turn, also beside owners of many nodes', (t) => {
  const many = Array.from({ length: 4 }, (_, owner) =>
    Array.from({ length: 50 }, (_, at) => ({ id: `many-${owner}-${at}`, owner: `many-${owner}` })),
  ).flat();
  const few = Array.from({ length: 4 }, (_, at) => ({ id: `few-${at}`, owner: `few-${at}` }));
  const askedIn = new Map<string, number>();
  const counts = new Map<string, number>();
  for (let search = 1; search <= 20; search += 1)
    for (const id of chooseNodes([...many, ...few], 4, (one) => askedIn.get(one) ?? 0)) {
      askedIn.set(id, search);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  t.deepEqual(
    few.map(({ id }) => counts.get(id)),
    [10, 10, 10, 10],
  );
});
