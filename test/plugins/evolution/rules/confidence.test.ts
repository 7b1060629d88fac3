import test from 'ava';
import fc from 'fast-check';
import {
  afterOther,
  afterUse,
  confidence,
  type Evidence,
  expectedRate,
  NO_EVIDENCE,
  PRIOR,
  potential,
} from '../../../../plugins/evolution/rules/confidence.ts';

const outcomes = fc.array(fc.boolean(), { maxLength: 60 });
const after = (uses: readonly boolean[], discount?: number): Evidence =>
  uses.reduce((evidence, isSuccess) => afterUse(evidence, isSuccess, discount), NO_EVIDENCE);

test('without a use confidence is the prior, so that a new gene reaches a threshold of 0.5', (t) => {
  t.is(confidence(NO_EVIDENCE), PRIOR);
  t.is(potential(NO_EVIDENCE), PRIOR);
  t.is(expectedRate(NO_EVIDENCE), PRIOR);
  t.true(confidence(NO_EVIDENCE) >= 0.5);
});

test('confidence lies below the expected rate, potential above it, and all between 0 and 1', (t) => {
  fc.assert(
    fc.property(outcomes, (uses) => {
      const evidence = after(uses);
      const [low, middle, high] = [confidence(evidence), expectedRate(evidence), potential(evidence)];
      t.true(0 <= low && low <= middle + 1e-12 && middle <= high + 1e-12 && high <= 1);
    }),
  );
});

test('a success never lowers confidence, a failure never raises it', (t) => {
  fc.assert(
    fc.property(outcomes, (uses) => {
      const evidence = after(uses);
      t.true(expectedRate(afterUse(evidence, true)) >= expectedRate(evidence) - 1e-12);
      t.true(expectedRate(afterUse(evidence, false)) <= expectedRate(evidence) + 1e-12);
      t.true(confidence(afterUse(evidence, false)) <= confidence(afterUse(evidence, true)));
    }),
  );
});

test('what was learned long ago does not keep from learning: a few later uses decide', (t) => {
  const good = after(Array<boolean>(1_000).fill(true));
  t.true(good.wins < 15, 'the evidence is bounded');
  t.true(confidence(good) > 0.8);
  const turned = Array<boolean>(8)
    .fill(false)
    .reduce((evidence, isSuccess) => afterUse(evidence, isSuccess), good);
  t.true(confidence(turned) < 0.5);
});

test('few uses tell little: one success is worth less than ten, and one failure less than ten', (t) => {
  t.true(confidence(after([true])) < confidence(after(Array<boolean>(10).fill(true))));
  t.true(confidence(after([false])) > confidence(after(Array<boolean>(10).fill(false))));
});

test('what is not used returns to the prior, never past it, and not by time', (t) => {
  fc.assert(
    fc.property(outcomes, fc.nat(300), (uses, others) => {
      const evidence = after(uses);
      let faded = evidence;
      for (let index = 0; index < others; index += 1) faded = afterOther(faded);
      const [before, now] = [expectedRate(evidence) - PRIOR, expectedRate(faded) - PRIOR];
      t.true(Math.abs(now) <= Math.abs(before) + 1e-12);
      t.true(before * now >= -1e-12);
    }),
  );
  t.true(
    Math.abs(confidence(Array.from({ length: 500 }).reduce<Evidence>(afterOther, after([true]))) - PRIOR) <
      0.001,
  );
});

test('a discount of 1 forgets nothing', (t) => {
  t.deepEqual(after([true, false, true, true], 1), { wins: 3, losses: 1 });
});
