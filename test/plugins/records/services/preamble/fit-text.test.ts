import test from 'ava';
import fc from 'fast-check';
import { estimateTokens } from '../../../../../plugins/records/contract.ts';
import { fitText } from '../../../../../plugins/records/services/preamble/fit-text.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';

test('whole lines stay while they fit', (t) => {
  const text = 'first line\nsecond line\nthird line';
  t.is(fitText(text, 100), text);
  t.is(fitText(text, 6), 'first line\nsecond line');
  t.is(fitText(text, 4), 'first line');
  t.is(fitText(text, 0), '');
});

test('a first line that is too long is cut between words, and one without words between characters', (t) => {
  t.is(fitText('some very long first line\nsecond', 3), 'some very');
  t.is(fitText('東京都千代田区', 3), '東京都');
  t.is(fitText('🍵🍵🍵🍵', 3), '🍵');
  t.is(fitText('x'.repeat(100), 5).length, 5);
});

test('of any text a beginning comes out that fits, and no half character', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '\n', 'é', '東', '🍵', '\r'), maxLength: 300 });
  fc.assert(
    fc.property(text, fc.nat(80), (whole, most) => {
      const part = fitText(whole, most);
      t.true(whole.startsWith(part) || whole.trimStart().startsWith(part));
      t.true(estimateTokens(part) <= most);
      t.true(part.isWellFormed());
      if (estimateTokens(whole) <= most) t.is(part, whole);
    }),
  );
});

test('a hostile megabyte costs no more than what fits', (t) => {
  for (const piece of ['\n', ' ', 'a', '🍵', ' \n']) {
    const start = cpuNow();
    fitText(piece.repeat(500_000), 1000);
    t.true(cpuNow() - start < 200, JSON.stringify(piece));
  }
});
