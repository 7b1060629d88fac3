import test from 'ava';
import fc from 'fast-check';
import { createSeal } from '../../../foundation/secrets/seal.ts';

const KEY = 'k'.repeat(32);

test('what was sealed opens again in its place alone, under its key alone, and shows nothing', (t) => {
  const seal = createSeal(KEY);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 8 }), fc.string(), (secret, place) => {
      const stored = seal.seal(secret, place);
      t.not(stored, seal.seal(secret, place));
      t.false(stored.includes(secret));
      t.is(seal.open(stored, place), secret);
      for (const wrong of [
        () => seal.open(stored, `${place}x`),
        () => createSeal(`${KEY}x`).open(stored, place),
        () => createSeal(undefined).open(stored, place),
        () => seal.open(`${stored.slice(0, -8)}AAAAAAA=`, place),
        () => seal.open('gcm1.AAAA', place),
      ]) {
        t.is(t.throws(wrong)?.message.includes(secret), false);
      }
    }),
    { numRuns: 30 },
  );
});

test('what was stored before there was a key is read with one', (t) => {
  t.is(createSeal(KEY).open(createSeal(undefined).seal('whsec_abc', 'here'), 'here'), 'whsec_abc');
});

test('a key and the one before open what either has sealed, and only the key seals', (t) => {
  const [older, newer] = [createSeal(KEY), createSeal('n'.repeat(32))];
  const both = createSeal('n'.repeat(32), KEY);
  for (const seal of [older, newer, createSeal(undefined)]) {
    t.is(both.open(seal.seal('whsec_abc', 'here'), 'here'), 'whsec_abc');
  }
  t.is(newer.open(both.seal('whsec_abc', 'here'), 'here'), 'whsec_abc');
  t.false(both.opens(createSeal('x'.repeat(32)).seal('whsec_abc', 'here'), 'here'));
});

test('what another key or none has sealed is sealed again where there is a previous key, and can be opened', (t) => {
  const newer = createSeal('n'.repeat(32));
  const both = createSeal('n'.repeat(32), KEY);
  for (const seal of [createSeal(KEY), createSeal(undefined)]) {
    const stored = seal.seal('whsec_abc', 'here');
    t.is(newer.open(both.reseal(stored, 'here')!, 'here'), 'whsec_abc');
    t.is(newer.reseal(stored, 'here'), undefined);
    t.is(createSeal(undefined, KEY).reseal(stored, 'here'), undefined);
  }
  t.is(both.reseal(newer.seal('whsec_abc', 'here'), 'here'), undefined);
  t.is(both.reseal(createSeal('x'.repeat(32)).seal('whsec_abc', 'here'), 'here'), undefined);
});
