import test from 'ava';
import { CONCURRENCY } from '../../../../../plugins/runtime/services/webhooks/deliveries.ts';
import { createPlaces, type Place } from '../../../../../plugins/runtime/services/webhooks/places.ts';
import { manualClock } from '../../../../../testing/index.ts';

const PLACES = 8;
const MOST = 3;

function make() {
  const clock = manualClock();
  const placeOf = createPlaces(PLACES, MOST, clock);
  /** What the caller gets without standing in line. */
  const atOnce = (webhook: string) =>
    Promise.race([
      placeOf(webhook, webhook),
      new Promise<'in line'>((resolve) => setImmediate(resolve, 'in line')),
    ]);
  const take = async (webhook: string) => {
    const place = await placeOf(webhook, webhook);
    if ('waitMs' in place) throw new Error(`${webhook} has no place for ${place.waitMs} ms`);
    return place;
  };
  /** Uses a place for so long. */
  const use = async (webhook: string, milliseconds: number) => {
    const { leave } = await take(webhook);
    clock.advance(milliseconds);
    leave();
  };
  return { clock, atOnce, take, use };
}

const isPlace = (got: Place | 'in line') => got !== 'in line' && 'leave' in got;

test('callers stand in line while places become free soon, and come again later where they do not', async (t) => {
  const { clock, atOnce, take } = make();
  for (let n = 0; n < MOST; n += 1) await take('hanging');
  t.is(await atOnce('hanging'), 'in line');
  clock.advance(2_000);
  t.like(await atOnce('hanging'), { waitMs: 1_000 });
  t.true(isPlace(await atOnce('other')));
});

test('those that have no place of the slow ones come again at the pace of their webhook, and others get places', async (t) => {
  const { atOnce, take, use } = make();
  for (const webhook of ['a', 'b', 'c']) await use(webhook, 10_000);
  const first = await take('a');
  for (const webhook of ['a', 'b', 'b']) await take(webhook);
  t.like(await atOnce('c'), { waitMs: 3_500 });
  t.like(await atOnce('a'), { waitMs: 3_500 });
  t.like(await atOnce('a'), { waitMs: 7_000 });
  for (let n = 0; n < MOST; n += 1) t.true(isPlace(await atOnce('quick')));
  first.leave();
  t.true(isPlace(await atOnce('c')));
});

test('a caller that has waited in line gets the place of one that leaves', async (t) => {
  const { atOnce, take } = make();
  const places = [await take('a'), await take('a'), await take('a')];
  const waiting = take('a');
  t.is(await atOnce('a'), 'in line');
  places[0]!.leave();
  t.is(typeof (await waiting).leave, 'function');
});

test('crowds that hang in many tenants, and are not known to, leave a place to the next tenant', async (t) => {
  const placeOf = createPlaces(CONCURRENCY, MOST, manualClock());
  let hanging = 0;
  for (let n = 0; n < 20; n += 1) {
    for (let crowd = 0; crowd < 24; crowd += 1)
      if (isPlace(await placeOf(`crowd-${crowd}`, `${crowd}/${n}`))) hanging += 1;
  }
  t.true(hanging > 0.9 * CONCURRENCY, `${hanging} hang`);
  t.true(isPlace(await placeOf('other', 'quick')));
});
