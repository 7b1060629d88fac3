import test from 'ava';
import { backoffDelay } from '../../../foundation/base/backoff.ts';

test('the delay doubles with each failure, up to its bound, and chance takes up to half of it off', (t) => {
  const bounds = { first: 200, most: 10_000 };
  t.deepEqual(
    [1, 2, 3, 6, 7, 1_000_000].map((failures) => backoffDelay(failures, bounds, 0)),
    [200, 400, 800, 6_400, 10_000, 10_000],
  );
  t.is(backoffDelay(2, bounds, 1), 200);
  t.is(backoffDelay(2, bounds, 0.5), 300);
});
