import test from 'ava';
import { withFirst } from '../../../foundation/base/first-item.ts';

const empty = () => new Error('there is nothing');
/** Milliseconds for which sources are waited for that give nothing until the waiting is over. */
const PATIENCE = 5;

/**
 * A source of these items, the last of which may be a failure, that gives none before `opened`; it tells whether it has
 * ended.
 */
function source(items: readonly (number | Error)[], opened?: Promise<void>) {
  const state = { isOver: false };
  async function* all(): AsyncGenerator<number> {
    try {
      await opened;
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

/** A source whose first item comes when it is no longer waited for, as it is given then. */
async function late(items: readonly (number | Error)[]) {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { state, all } = source(items, opened);
  const given = await withFirst(all(), empty, PATIENCE);
  open();
  return { state, given };
}

test('a source that takes longer is given as it is, with its failure and its emptiness', async (t) => {
  const good = await late([1, 2]);
  t.deepEqual(await collect(good.given), [1, 2]);
  t.true(good.state.isOver);
  await t.throwsAsync(collect((await late([new Error('broken')])).given), { message: 'broken' });
  await t.throwsAsync(collect((await late([])).given), { message: 'there is nothing' });
});

test('a reader who stops ends the source', async (t) => {
  const prompt = source([1, 2, 3]);
  for await (const _ of await withFirst(prompt.all(), empty)) break;
  t.true(prompt.state.isOver);
  const slow = await late([1, 2, 3]);
  for await (const _ of slow.given) break;
  t.true(slow.state.isOver);
});
