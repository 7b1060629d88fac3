import test from 'ava';
import { lazy } from '../../../foundation/base/lazy.ts';

test('nothing is loaded before the first use, and all callers share one load', async (t) => {
  let loads = 0;
  const part = lazy(async () => {
    loads += 1;
    return { loads };
  });
  t.is(part.begun, undefined);
  t.is(loads, 0);
  const [one, other] = await Promise.all([part.get(), part.get()]);
  t.is(one, other);
  t.is(await part.begun, one);
  t.is(loads, 1);
});

test('after a failure, which all callers of that load get, the next use loads again', async (t) => {
  let loads = 0;
  const part = lazy(async () => {
    loads += 1;
    if (loads === 1) throw new Error('not now');
    return loads;
  });
  const failed = await Promise.allSettled([part.get(), part.get()]);
  t.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.is(part.begun, undefined);
  t.is(await part.get(), 2);
});
