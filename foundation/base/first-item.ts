/**
 * Waits for the first item of a source, and gives all of them: what fails before it can still be answered by a status. The result is read once; however
 * the reading ends, the source has ended with it.
 *
 * @param empty the error for a source without any item
 */
export async function withFirst<T>(source: AsyncIterable<T>, empty: () => Error): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) throw empty();
  return all(first, iterator);
}

async function* all<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T, void> {
  try {
    for (let result = first; !result.done; result = await rest.next()) yield result.value;
  } finally {
    await rest.return?.();
  }
}
