import test from 'ava';
import { storableText } from '../../../foundation/base/storable-text.ts';

test('text fits its column, and holds nothing that a database refuses', (t) => {
  const cases: readonly [string, number, string][] = [
    ['', 5, ''],
    ['plain', 5, 'plain'],
    ['longer', 5, 'longe'],
    ['a\0b\0', 5, 'a\ufffdb\ufffd'],
    ['\ud83d', 5, '\ufffd'],
    ['🧮', 2, '🧮'],
    ['🧮', 1, '\ufffd'],
  ];
  for (const [text, length, stored] of cases) {
    t.is(storableText(text, length), stored);
    t.is(storableText(stored, length), stored, 'what is stored is found again');
  }
  t.is(storableText('\0'.repeat(1_000_000), 255).length, 255);
});
