import test from 'ava';
import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../../foundation/config/duration.ts';

const good: [string, number][] = [
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['720h', 2_592_000_000],
  ['7d', 604_800_000],
  ['250ms', 250],
  ['1.5h', 5_400_000],
  ['0.1s', 100],
  ['30', 30_000],
  ['0.25', 250],
  ['0', 0],
  ['0s', 0],
];
for (const [text, milliseconds] of good) {
  test(`"${text}" is ${milliseconds} ms`, (t) => t.is(parseDuration(text), milliseconds));
}

for (const text of [
  '',
  'abc',
  '-5s',
  '5 s',
  '5S',
  '5mo',
  's',
  '1h-5m',
  '1e3',
  '.5s',
  '5s ',
  `${'9'.repeat(40)}h`,
  '1s'.repeat(40),
]) {
  test(`"${text.slice(0, 20)}" (${text.length} characters) is no duration`, (t) =>
    t.is(parseDuration(text), undefined));
}

test('every whole number of milliseconds survives being written and read', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 }),
      (value) => parseDuration(formatDuration(value)) === value,
    ),
  );
  t.is(formatDuration(5_400_000), '1h30m');
  t.is(formatDuration(0), '0s');
});

test('any text gives a number of milliseconds that is whole and not negative, or nothing', (t) => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,5}(ms|s|m|h|d){0,2}[0-9]{0,3}$/));
  fc.assert(
    fc.property(text, (value) => {
      const result = parseDuration(value);
      return result === undefined || (Number.isSafeInteger(result) && result >= 0);
    }),
  );
  t.pass();
});
