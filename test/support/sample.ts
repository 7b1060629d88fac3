import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ExecutionContext } from 'ava';

/** True in `npm run test:long`: what is exhaustive is done whole. Else a sample of it, by a seed. */
export const isWhole = process.env.TEST_WHOLE === 'true';

/** Chooses the samples; logged, so that `TEST_SEED` repeats a run. */
export const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1_000_000));

/** All items, or `count` of them that the seed has chosen, in their order. */
export function sample<T>(t: ExecutionContext, items: readonly T[], count: number): readonly T[] {
  const some = chosen('', items, count);
  if (some.length < items.length) t.log(`${count} of ${items.length}, chosen by TEST_SEED=${SEED}`);
  return some;
}

/**
 * The same, silently, where tests are declared, one for each item:
 * `for (const form of chosen('two replicas', FORMS, 1)) test(…)`. Each title has a choice of its own; without one it is
 * that of `sample`.
 */
export function chosen<T>(title: string, items: readonly T[], count: number): readonly T[] {
  if (isWhole || items.length <= count) return items;
  const places = new Set<number>();
  for (let state = crc32(title, SEED >>> 0); places.size < count; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    places.add(Math.floor((state / 2 ** 32) * items.length));
  }
  return items.filter((_, index) => places.has(index));
}

/**
 * Whole files, silently: in an order of the seed's as many as it takes for their costs to reach the budget, so that
 * each has its turn, the dearest too.
 */
export function affordable(
  title: string,
  costs: Readonly<Record<string, number>>,
  budget: number,
  seed = SEED,
): ReadonlySet<string> {
  const placeOf = (file: string) => hash('sha256', `${title} ${seed} ${file}`);
  const drawn = Object.keys(costs).sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  const taken = new Set<string>();
  let spent = 0;
  for (const file of drawn) {
    if (spent >= budget && !isWhole) break;
    spent += costs[file]!;
    taken.add(file);
  }
  return taken;
}
