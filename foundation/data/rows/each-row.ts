import type { EntityName } from '@mikro-orm/core';
import type { TenantEntityManager } from '../tenant-entity-manager.ts';
import type { PlainWhere } from './conditions.ts';

/** How all rows are read. */
export interface EachRowQuery<E, Field extends keyof E & string> {
  /**
   * The order: properties that together are different in every row of the tenant, none of them null, and none of them
   * in the condition, but for a lower bound of the first. Best those of an index that begins with the tenant, since
   * each page is found by them.
   */
  readonly by: readonly (keyof E & string)[];
  /** Properties to read, those of `by` among them; default: all. */
  readonly fields?: readonly Field[];
  /** Rows that are in memory at one time; default 500. Fewer where they are large. */
  readonly page?: number;
}

const PAGE = 500;

/**
 * All rows of an entity that match, however many, in pages and in order: for exports. Rows that come or go meanwhile
 * make it neither skip others nor give one twice. As `rows`, for plain entities and simple conditions.
 *
 * @example
 * const notes = eachRow(entities, Note, {}, { by: ['createdAt', 'id'] });
 * for await (const { id, text } of notes) yield { id, text };
 */
export async function* eachRow<E extends object, Field extends keyof E & string = keyof E & string>(
  entities: Pick<TenantEntityManager, 'rows'>,
  entity: EntityName<E>,
  where: PlainWhere<NoInfer<E>>,
  { by, fields, page: limit = PAGE }: EachRowQuery<NoInfer<E>, Field>,
): AsyncGenerator<Pick<E, Field>> {
  // Sorted by what is not the same in all of them: MariaDB would sort by the rest without the index.
  const read = (start: object, same: number): Promise<Pick<E, Field>[]> => {
    const orderBy = Object.fromEntries(by.slice(same).map((name) => [name, 'asc']));
    const query = { orderBy, limit, ...(fields && { fields }) } as never;
    return entities.rows(entity, { ...where, ...start } as never, query);
  };

  let page = await read({}, 0);
  let isLast = page.length < limit;
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield* page;
    if (isLast) return;
    page = [];
    // After the last row: first those that agree with it in all but the last property, then in all but the last two …
    for (let same = by.length - 1; same >= 0 && page.length === 0; same -= 1) {
      const kept = by.slice(0, same).map((name) => [name, (last as E)[name]]);
      const next = by[same] as keyof E & string;
      page = await read({ ...Object.fromEntries(kept), [next]: { $gt: (last as E)[next] } }, same);
      isLast = same === 0 && page.length < limit;
    }
  }
}
