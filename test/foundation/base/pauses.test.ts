import test from 'ava';
import { createPauses, mapWithPauses } from '../../../foundation/base/pauses.ts';

/** Works without waiting for anything. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** Whether what waits for the event loop had its turn while `run` was under way. */
async function othersHadTurn(run: () => Promise<unknown>): Promise<boolean> {
  let hadTurn = false;
  const other = setImmediate(() => {
    hadTurn = true;
  });
  await run();
  clearImmediate(other);
  return hadTurn;
}

/** A chain of promises that settle at once, with a pause wherever one is due. */
async function chain(length: number, stretchMs: number): Promise<number> {
  const pauses = createPauses(stretchMs);
  let paused = 0;
  for (let link = 0; link < length; link += 1) {
    const pause = pauses();
    if (pause !== undefined) {
      paused += 1;
      await pause;
    }
    work(2);
    await Promise.resolve();
  }
  return paused;
}

test('others have their turn in a chain of promises that settle at once', async (t) => {
  t.true(await othersHadTurn(() => chain(5, 4)));
  t.false(await othersHadTurn(() => chain(5, Number.POSITIVE_INFINITY)), 'without pauses they have none');
});

test('a stretch begins anew with each turn of the event loop', async (t) => {
  t.true((await chain(20, 4)) >= 2);
});

test('a list is mapped in its order, with pauses', async (t) => {
  const seen: number[] = [];
  const map = (item: number) => {
    work(12);
    seen.push(item);
    return item * 2;
  };
  t.true(await othersHadTurn(async () => t.deepEqual(await mapWithPauses([1, 2, 3], map), [2, 4, 6])));
  t.deepEqual(seen, [1, 2, 3]);
});
