import test from 'ava';
import fc from 'fast-check';
import { formatSize, parseSize } from '../../../foundation/config/size.ts';

const good: [string, number][] = [
  ['0', 0],
  ['512', 512],
  ['512B', 512],
  ['64KiB', 65_536],
  ['64 KiB', 65_536],
  ['64kb', 65_536],
  ['1MB', 1_048_576],
  ['1MiB', 1_048_576],
  ['1.5GiB', 1_610_612_736],
];
for (const [text, bytes] of good) {
  test(`"${text}" is ${bytes} bytes`, (t) => t.is(parseSize(text), bytes));
}

for (const text of ['', 'abc', '-1', '1TB', '1Ki', '1.5', '1.5B', '1  MB', 'MB', '1e3', '9'.repeat(30)]) {
  test(`"${text}" is no size`, (t) => t.is(parseSize(text), undefined));
}

test('every whole number of bytes survives being written and read', (t) => {
  fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseSize(formatSize(bytes)) === bytes));
  t.is(formatSize(1_048_576), '1MiB');
  t.is(formatSize(1500), '1500B');
});
