import test from 'ava';
import { backoffDelay, parseRetryAfter } from '../../../foundation/base/backoff.ts';

test('the delay doubles with each failure, up to its bound, and chance takes up to half of it off', (t) => {
  const bounds = { first: 200, most: 10_000 };
  t.deepEqual(
    [1, 2, 3, 6, 7, 1_000_000].map((failures) => backoffDelay(failures, bounds, 0)),
    [200, 400, 800, 6_400, 10_000, 10_000],
  );
  t.is(backoffDelay(2, bounds, 1), 200);
  t.is(backoffDelay(2, bounds, 0.5), 300);
});

const NOW = Date.parse('2025-05-01T12:00:00Z');
const HEADERS: [string | string[] | undefined, number | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-1', undefined],
  ['99999999999999999999', undefined],
  ['0', 0],
  ['7', 7000],
  [' 7 ', 7000],
  ['1.5', 1500],
  [['3', '4'], 3000],
  ['Thu, 01 May 2025 12:00:10 GMT', 10_000],
  ['Thu, 01 May 2025 11:59:00 GMT', 0],
  ['Thu, 99 May 2025 11:59:00 GMT', undefined],
  ['2025-05-01', undefined],
];
for (const [header, expected] of HEADERS) {
  test(`Retry-After ${JSON.stringify(header)} means ${expected} ms`, (t) => {
    t.is(parseRetryAfter(header, NOW), expected);
  });
}
