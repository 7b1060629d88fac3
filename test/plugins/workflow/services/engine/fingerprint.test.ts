import test from 'ava';
import fc from 'fast-check';
import type { Json } from '../../../../../plugins/workflow/contract/graph.ts';
import { fingerprintOf } from '../../../../../plugins/workflow/services/engine/fingerprint.ts';
import { jsonEqual } from '../../../../../plugins/workflow/services/graph/json.ts';

test('the order of members does not count, that of items does', (t) => {
  t.is(fingerprintOf({ a: 1, b: { c: 2, d: 3 } }), fingerprintOf({ b: { d: 3, c: 2 }, a: 1 }));
  t.not(fingerprintOf({ a: [1, 2] }), fingerprintOf({ a: [2, 1] }));
});

test('an object is no list of its members', (t) => {
  t.not(fingerprintOf({ a: 1 }), fingerprintOf([['a', 1]]));
  t.not(fingerprintOf({ members: [['a', 1]] }), fingerprintOf({ a: 1 }));
});

test('two values have the same fingerprint exactly when they are equal', (t) => {
  const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(json, json, (a, b) => {
      t.is(fingerprintOf(a) === fingerprintOf(b), jsonEqual(a, b));
      t.is(fingerprintOf(a), fingerprintOf(JSON.parse(JSON.stringify(a))));
    }),
  );
});
