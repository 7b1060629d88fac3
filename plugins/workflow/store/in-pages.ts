/** Where a page begins: after a row, among those of the same time (`id`) or of later ones. */
export type PageStart =
  | Record<string, never>
  | { readonly time: number; readonly id: { readonly $gt: string } }
  | { readonly time: { readonly $gt: number } };

interface Ordered {
  readonly id: string;
  readonly time: number;
}

/**
 * Reads rows in pages, ordered by a time and then by their ids. Rows that come or go meanwhile make it neither skip others nor give one twice.
 *
 * @param read the first rows from `start` on, in that order
 */
export async function* inPages<Row extends Ordered>(
  read: (start: PageStart) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let page = await read({});
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield page;
    page = await read({ time: last.time, id: { $gt: last.id } });
    if (page.length === 0) page = await read({ time: { $gt: last.time } });
  }
}
