import test from 'ava';
import { pageOf } from '../../../foundation/base/page.ts';

test('a limit above the maximum is the maximum, which is 500 unless another one is said', (t) => {
  t.deepEqual(pageOf({ limit: 20, offset: 7 }), { limit: 20, offset: 7 });
  t.deepEqual(pageOf({ limit: 501, offset: 0 }), { limit: 500, offset: 0 });
  t.deepEqual(pageOf({ limit: 501, offset: 0 }, 1_000), { limit: 501, offset: 0 });
  t.deepEqual(pageOf({ limit: 501, offset: 0 }, 100), { limit: 100, offset: 0 });
});
