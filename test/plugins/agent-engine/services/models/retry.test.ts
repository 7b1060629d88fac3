import test from 'ava';
import fc from 'fast-check';
import {
  DEFAULT_RETRY,
  nextDelay,
  parseRetryAfter,
} from '../../../../../plugins/agent-engine/services/models/retry.ts';

test('backoff doubles, is jittered over its whole range, and has a ceiling', (t) => {
  const settings = { ...DEFAULT_RETRY, retries: 9, baseMs: 100, maxBackoffMs: 500 };
  t.deepEqual(
    [1, 2, 3, 4, 9].map((attempt) => nextDelay(settings, attempt, undefined, 0.5)),
    [50, 100, 200, 250, 250],
  );
  t.is(nextDelay(settings, 1, undefined, 0), 0);
});

test('there are no more retries than allowed', (t) => {
  t.not(nextDelay(DEFAULT_RETRY, 2, undefined, 0.5), undefined);
  t.is(nextDelay(DEFAULT_RETRY, 3, undefined, 0.5), undefined);
  t.is(nextDelay({ ...DEFAULT_RETRY, retries: 0 }, 1, 1, 0.5), undefined);
});

test('never sooner than Retry-After, never longer than the cap and a backoff', (t) => {
  fc.assert(
    fc.property(fc.nat(20_000), fc.double({ min: 0, max: 0.999, noNaN: true }), (retryAfter, random) => {
      const delay = nextDelay(DEFAULT_RETRY, 1, retryAfter, random);
      if (retryAfter > DEFAULT_RETRY.maxRetryAfterMs) t.is(delay, undefined);
      else t.true(delay! >= retryAfter && delay! <= DEFAULT_RETRY.maxRetryAfterMs + DEFAULT_RETRY.baseMs);
    }),
  );
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
