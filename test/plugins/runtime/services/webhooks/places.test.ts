import test from 'ava';
import { createPlaces, type Place } from '../../../../../plugins/runtime/services/webhooks/places.ts';
import { manualClock } from '../../../../../testing/index.ts';

const MOST = 3;
const MOST_SLOW = 2;

function make() {
  const clock = manualClock();
  const placeOf = createPlaces(MOST, MOST_SLOW, clock);
  /** What the caller gets without standing in line. */
  const atOnce = (key: string) =>
    Promise.race([placeOf(key), new Promise<'in line'>((resolve) => setImmediate(resolve, 'in line'))]);
  const take = async (key: string) => {
    const place = await placeOf(key);
    if ('waitMs' in place) throw new Error(`${key} has no place for ${place.waitMs} ms`);
    return place;
  };
  /** Uses a place for so long. */
  const use = async (key: string, milliseconds: number) => {
    const { leave } = await take(key);
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

test('slow keys share a part of the places, and the others have the rest', async (t) => {
  const { atOnce, take, use } = make();
  for (const key of ['a', 'b', 'c']) await use(key, 10_000);
  const first = await take('a');
  await take('b');
  t.like(await atOnce('c'), { waitMs: 3_500 });
  t.like(await atOnce('a'), { waitMs: 3_500 });
  for (let n = 0; n < MOST; n += 1) t.true(isPlace(await atOnce('quick')));
  first.leave();
  t.true(isPlace(await atOnce('c')));
});

test('a key is slow as soon as one of its places is used for long, and no more once it is used for a moment', async (t) => {
  const { clock, atOnce, take, use } = make();
  const places = [await take('a'), await take('b')];
  clock.advance(1_500);
  places.push(await take('a'), await take('b'));
  t.like(await atOnce('a'), { waitMs: 500 });
  t.true(isPlace(await atOnce('c')));
  for (const { leave } of places) leave();

  await use('d', 10_000);
  await use('d', 10);
  await use('a', 10_000);
  await take('a');
  await take('a');
  t.true(isPlace(await atOnce('d')));
});
