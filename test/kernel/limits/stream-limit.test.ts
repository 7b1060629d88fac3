import test from 'ava';
import { createStreamLimit, type StreamLimit } from '../../../foundation/limits/stream-limit.ts';

const call = { identity: { id: 'key', tenantId: 't1' } } as Parameters<StreamLimit['acquire']>[0];
const refused = { code: 'limit.streams', message: 'No more than 2 streams may be open at one time' };

test('gives out as many places as allowed, and one more for each that comes back', (t) => {
  const streams = createStreamLimit(2);
  const release = streams.acquire(call, 'user');
  streams.acquire(call, 'user');
  t.throws(() => streams.acquire(call, 'user'), refused);
  t.is(streams.open, 2);
  release();
  t.is(streams.open, 1);
  streams.acquire(call, 'user');
  t.throws(() => streams.acquire(call, 'user'), refused);
  streams.acquire(call, 'another');
  t.is(streams.open, 3);
});

test('giving a place back twice frees it once', (t) => {
  const streams = createStreamLimit(2);
  const release = streams.acquire(call, 'user');
  streams.acquire(call, 'user');
  release();
  release();
  streams.acquire(call, 'user');
  t.throws(() => streams.acquire(call, 'user'), refused);
});

test('a maximum of 0 is no limit, and users do not share places', (t) => {
  const unlimited = createStreamLimit(0);
  for (let i = 0; i < 100; i += 1) t.notThrows(() => unlimited.acquire(call, 'a'));
  const streams = createStreamLimit(1);
  streams.acquire(call, 'a');
  t.notThrows(() => streams.acquire(call, 'b'));
  t.throws(() => streams.acquire(call, 'a'));
});

test('callers whose names read alike when they are put together do not share places', (t) => {
  const streams = createStreamLimit(1);
  const caller = (id: string) => ({ identity: { id, tenantId: 't1' } });
  streams.acquire(caller('auth0:7'), undefined);
  t.notThrows(() => streams.acquire(caller('auth0'), '7:'));
});
