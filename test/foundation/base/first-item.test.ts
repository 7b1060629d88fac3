import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { withFirst } from '../../../foundation/base/first-item.ts';

const empty = () => new Error('there is nothing');
/** Milliseconds that are over long before a source that waits for them to be over. */
const PATIENCE = 20;

/** A source of these items, the last of which may be a failure; it tells whether it has ended. */
function source(items: readonly (number | Error)[], delay = 0) {
  const state = { isOver: false };
  async function* all(): AsyncGenerator<number> {
    try {
      await pause(delay);
      for (const item of items) {
        if (typeof item !== 'number') throw item;
        yield item;
      }
    } finally {
      state.isOver = true;
    }
  }
  return { state, all };
}

async function collect(items: AsyncIterable<number>): Promise<readonly number[]> {
  const collected: number[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test('what fails before the first item, or has none, is thrown before anything is read', async (t) => {
  for (const patience of [undefined, 60_000]) {
    const broken = source([new Error('broken')]);
    await t.throwsAsync(withFirst(broken.all(), empty, patience), { message: 'broken' });
    await t.throwsAsync(withFirst(source([]).all(), empty, patience), { message: 'there is nothing' });
    t.deepEqual(await collect(await withFirst(source([1, 2]).all(), empty, patience)), [1, 2]);
  }
});

test('a source that takes longer is given as it is, with its failure and its emptiness', async (t) => {
  const late = (...items: (number | Error)[]) => source(items, 5 * PATIENCE);
  const good = late(1, 2);
  t.deepEqual(await collect(await withFirst(good.all(), empty, PATIENCE)), [1, 2]);
  t.true(good.state.isOver);
  const broken = await withFirst(late(new Error('broken')).all(), empty, PATIENCE);
  await t.throwsAsync(collect(broken), { message: 'broken' });
  const none = await withFirst(late().all(), empty, PATIENCE);
  await t.throwsAsync(collect(none), { message: 'there is nothing' });
});

test('a reader who stops ends the source', async (t) => {
  for (const delay of [0, 5 * PATIENCE]) {
    const long = source([1, 2, 3], delay);
    for await (const _ of await withFirst(long.all(), empty, PATIENCE)) break;
    t.true(long.state.isOver);
  }
});
