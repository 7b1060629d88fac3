/**
 * Does `work` for each item, at most `limit` at one time. After a failure nothing new is begun, `stop` is called, what is under way is waited for,
 * and the first failure is thrown: nothing is left running.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  async function take(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const item = items[next]!;
      next += 1;
      try {
        await work(item);
      } catch (error) {
        const isFirst = failures.length === 0;
        failures.push(error);
        if (isFirst) stop(error);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, take));
  if (failures.length > 0) throw failures[0];
}
