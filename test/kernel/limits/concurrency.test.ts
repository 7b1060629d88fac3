import test from 'ava';
import { createConcurrency } from '../../../kernel/limits/stream-limit.ts';

test('gives out as many places as allowed, and one more for each that comes back', (t) => {
  const streams = createConcurrency();
  const first = streams.acquire('user', 2);
  t.truthy(first);
  t.truthy(streams.acquire('user', 2));
  t.is(streams.acquire('user', 2), undefined);
  first?.();
  t.truthy(streams.acquire('user', 2));
  t.is(streams.acquire('user', 2), undefined);
});

test('giving a place back twice frees it once', (t) => {
  const streams = createConcurrency();
  const release = streams.acquire('user', 5);
  streams.acquire('user', 5);
  release?.();
  release?.();
  t.is(streams.inUse('user'), 1);
});

test('a maximum of 0 is no limit, and keys do not share places', (t) => {
  const streams = createConcurrency();
  for (let i = 0; i < 100; i += 1) t.truthy(streams.acquire('a', 0));
  t.truthy(streams.acquire('b', 1));
  t.is(streams.inUse('a'), 100);
});
