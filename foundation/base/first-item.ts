import { endsWithin, LONGEST_DELAY_MS } from './deadline.ts';

/**
 * Waits for the first item of a source, and gives all of them: what fails before it can still be answered by a status.
 * After `patience` it gives them without waiting any longer, and their reader meets what fails. The result is read
 * once; however the reading ends, the source has ended with it.
 *
 * @param empty the error for a source without any item
 * @param patience milliseconds; default: as long as it takes
 */
export async function withFirst<T>(
  source: AsyncIterable<T>,
  empty: () => Error,
  patience = LONGEST_DELAY_MS,
): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]();
  const first = iterator.next();
  if ((await endsWithin(patience, first)) && (await first).done) throw empty();
  return all(first, iterator, empty);
}

async function* all<T>(
  first: Promise<IteratorResult<T>>,
  rest: AsyncIterator<T>,
  empty: () => Error,
): AsyncGenerator<T, void> {
  try {
    let result = await first;
    if (result.done) throw empty();
    for (; !result.done; result = await rest.next()) yield result.value;
  } finally {
    await rest.return?.();
  }
}
