import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import fc from 'fast-check';
import { TransientMap, TransientSet } from '../../../foundation/base/transient.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const KEYS = fc.nat(40);
const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('set' as const), key: KEYS, value: fc.nat() }),
    fc.record({ kind: fc.constant('delete' as const), key: KEYS }),
    fc.record({ kind: fc.constant('clear' as const), key: KEYS }),
  ),
  { maxLength: 400, size: 'max' },
);

test('what comes and goes is found as in a Map, in the order of its coming', (t) => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const ours = new TransientMap<number, number>();
      const members = new TransientSet<number>();
      const theirs = new Map<number, number>();
      for (const step of steps) {
        const { key } = step;
        if (step.kind === 'set') {
          ours.set(key, step.value);
          members.add(key);
          theirs.set(key, step.value);
        } else if (step.kind === 'delete') {
          const was = theirs.delete(key);
          t.is(ours.delete(key), was);
          t.is(members.delete(key), was);
        } else if (key === 0) {
          ours.clear();
          members.clear();
          theirs.clear();
        }
        t.is(ours.size, theirs.size);
        t.is(members.size, theirs.size);
        t.is(ours.get(key), theirs.get(key));
        t.is(ours.has(key), theirs.has(key));
        t.is(members.has(key), theirs.has(key));
      }
      t.deepEqual([...ours], [...theirs]);
      t.deepEqual([...ours.keys()], [...theirs.keys()]);
      t.deepEqual([...ours.values()], [...theirs.values()]);
      t.deepEqual([...members], [...theirs.keys()]);
    }),
    { numRuns: 100 },
  );
});

test('an iteration ends although members leave and come while it is under way', (t) => {
  const members = new TransientSet<number>();
  for (let one = 0; one < 100; one += 1) members.add(one);
  const seen: number[] = [];
  for (const one of members) {
    seen.push(one);
    members.delete(one);
    if (one < 50) members.add(1_000 + one);
  }
  t.deepEqual(
    seen.filter((one) => one < 1_000),
    Array.from({ length: 100 }, (_, one) => one),
  );
  t.is(seen.length, new Set(seen).size);
});

test('what has left is freed without a full collection', (t) => {
  const members = new TransientSet<object>();
  const waiting: object[] = [];
  // What is there now is in the old generation after the second collection.
  for (let one = 0; one < 16; one += 1) members.add({});
  collect();
  collect();
  const before = oldGeneration();
  for (let one = 0; one < 150_000; one += 1) {
    const member = { bytes: new Array(128).fill(one) };
    const left = waiting[one % 16];
    waiting[one % 16] = member;
    members.add(member);
    if (left !== undefined) members.delete(left);
  }
  // They were 150 MB; of a plain Set many MB are kept.
  const grown = oldGeneration() - before;
  t.true(grown < 1_000_000, `${grown} bytes`);
});

function oldGeneration(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => space_name.startsWith('old_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}
