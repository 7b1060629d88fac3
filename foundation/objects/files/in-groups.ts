/** How many files are worked on at one time: more do not make a disk faster, and each is an open file. */
const AT_ONCE = 16;

/** Does `work` on each item, 16 at a time, and returns the results in the order of the items. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))));
  }
  return results;
}
