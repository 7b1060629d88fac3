import test from 'ava';
import fc from 'fast-check';
import { type ArmCount, upliftOf } from '../../../../plugins/evolution/rules/uplift.ts';

const arm: fc.Arbitrary<ArmCount> = fc
  .tuple(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([tasks, share]) => ({ tasks, successes: Math.round(tasks * share) }));

test('the interval holds the difference, lies within -1 and 1, and narrows with more tasks', (t) => {
  fc.assert(
    fc.property(arm, arm, (advised, holdout) => {
      const { difference, low, high } = upliftOf(advised, holdout);
      const more = ({ tasks, successes }: ArmCount) => ({ tasks: tasks * 4, successes: successes * 4 });
      const narrow = upliftOf(more(advised), more(holdout));
      const isOrdered = low! <= difference! + 1e-9 && difference! <= high! + 1e-9;
      return (
        isOrdered &&
        low! >= -1 - 1e-9 &&
        high! <= 1 + 1e-9 &&
        narrow.high! - narrow.low! < high! - low! + 1e-9
      );
    }),
  );
  t.pass();
});

test('the known example of Newcombe: 56 of 70 against 48 of 80 is 0.0524 to 0.3339', (t) => {
  const { low, high, difference } = upliftOf({ tasks: 70, successes: 56 }, { tasks: 80, successes: 48 });
  t.is(difference!.toFixed(4), '0.2000');
  t.deepEqual([low!.toFixed(4), high!.toFixed(4)], ['0.0524', '0.3339']);
});

test('it says in words what can be said, and no more', (t) => {
  const summary = (advised: ArmCount, holdout: ArmCount) => upliftOf(advised, holdout).summary;
  t.is(
    summary({ tasks: 1000, successes: 810 }, { tasks: 100, successes: 62 }),
    'Advice helps. With advice 81 of 100 tasks succeeded, without it 62 (1100 tasks compared, 95 % interval +10 to +29 of 100).',
  );
  t.regex(
    summary({ tasks: 10, successes: 8 }, { tasks: 10, successes: 6 }),
    /^Whether advice helps cannot be said yet/,
  );
  t.regex(summary({ tasks: 500, successes: 250 }, { tasks: 500, successes: 400 }), /^Advice hurts/);
  t.is(
    summary({ tasks: 0, successes: 0 }, { tasks: 5, successes: 5 }),
    'Not known yet: there was no task with advice that could be compared.',
  );
});
