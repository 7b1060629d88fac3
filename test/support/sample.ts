import type { ExecutionContext } from 'ava';

/** True in `npm run test:long`: what is exhaustive is done whole. Else a sample of it, by a seed. */
export const isWhole = process.env.TEST_WHOLE === 'true';

/** Chooses the samples; logged, so that `TEST_SEED` repeats a run. */
export const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1_000_000));

/** All items, or `count` of them that the seed has chosen, in their order. */
export function sample<T>(t: ExecutionContext, items: readonly T[], count: number): readonly T[] {
  const chosen = chosenOf(items, count);
  if (chosen.length < items.length) t.log(`${count} of ${items.length}, chosen by TEST_SEED=${SEED}`);
  return chosen;
}

/** The same where tests are declared, one for each item: `for (const form of chosenOf(FORMS, 1)) test(…)`. Their titles say which was chosen. */
export function chosenOf<T>(items: readonly T[], count: number): readonly T[] {
  if (isWhole || items.length <= count) return items;
  const chosen = new Set<number>();
  for (let state = SEED >>> 0; chosen.size < count; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    chosen.add(Math.floor((state / 2 ** 32) * items.length));
  }
  return items.filter((_, index) => chosen.has(index));
}
