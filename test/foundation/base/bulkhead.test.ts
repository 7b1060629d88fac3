import test from 'ava';
import { Bulkhead } from '../../../foundation/base/bulkhead.ts';
import { manualClock } from '../../../testing/index.ts';

function make(places: number) {
  const clock = manualClock();
  const bulkhead = new Bulkhead(places, clock);
  /** Takes places for other tenants each, until there are none; their number. */
  const fill = (name: string) => {
    let entered = 0;
    while (bulkhead.enter(name, `${name}/${entered}`) !== undefined) entered += 1;
    return entered;
  };
  /** A request that takes so long. */
  const call = (id: string, milliseconds: number) => {
    const leave = bulkhead.enter(id, id)!;
    clock.advance(milliseconds);
    leave();
  };
  return { clock, bulkhead, fill, call };
}

test('slow receivers have half of the places, and one that answers in time is slow no more', (t) => {
  const { bulkhead, fill, call } = make(8);
  call('slow', 3_001);
  call('quick', 3_000);
  t.is(bulkhead.usualMs('slow'), 3_001);
  t.is(fill('slow'), 4);
  t.is(bulkhead.enter('slow', 'another'), undefined);
  t.is(fill('quick'), 4);

  const after = make(8);
  after.call('receiver', 10_000);
  after.call('receiver', 10);
  t.is(after.fill('receiver'), 8);
});

test('a receiver that is not known to hang is slow as soon as one of its requests takes too long', (t) => {
  const { clock, bulkhead, call } = make(8);
  call('known', 10_000);
  const hanging = ['a', 'b', 'c', 'd'].map((id) => bulkhead.enter(id, id)!);
  t.false(bulkhead.isSlow('a'));
  clock.advance(3_001);
  t.true(bulkhead.isSlow('a'));
  t.is(bulkhead.enter('a', 'a'), undefined, 'those that hang have all places of slow ones');
  t.is(bulkhead.enter('known', 'known'), undefined);
  t.not(bulkhead.enter('quick', 'quick'), undefined);
  hanging[0]!();
  hanging[0]!();
  t.not(bulkhead.enter('known', 'known'), undefined);
  t.is(bulkhead.enter('known', 'other'), undefined, 'a place is given back once');
});

test('a tenant alone has three quarters of the places, and some are left for each further one', (t) => {
  const { bulkhead, call } = make(64);
  const taken = (id: string, tenant: string) => {
    let count = 0;
    while (bulkhead.enter(id, tenant) !== undefined) count += 1;
    return count;
  };
  call('slow', 10_000);
  t.deepEqual([taken('slow', 'a'), taken('slow', 'b')], [24, 6], 'of 32 places');
  t.deepEqual(
    ['b', 'c', 'd', 'e'].map((tenant) => taken('quick', tenant)),
    [24, 8, 2, 0],
  );
});

test('the slow receivers that were used last are remembered, and of the others what is under way', (t) => {
  const { bulkhead, call } = make(8);
  for (let n = 0; n <= 10_000; n += 1) call(`slow ${n}`, 4_000);
  for (let n = 0; n <= 10_000; n += 1) call(`quick ${n}`, 10);
  t.false(bulkhead.isSlow('slow 0'));
  t.true(bulkhead.isSlow('slow 2'));
  t.true(bulkhead.isSlow('slow 10000'));
});
