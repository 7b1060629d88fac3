import type { EntityData, EntityName, RequiredEntityData } from '@mikro-orm/core';
import type { TENANT_PROPERTY } from '../tenancy.ts';
import type { PlainWhere } from './conditions.ts';

/** One of several writes that are done together; made by `writes`. */
export type RowWrite =
  | {
      readonly kind: 'insert';
      readonly entity: EntityName<object>;
      readonly rows: readonly Readonly<Record<string, unknown>>[];
      /** Called when the write is committed. */
      readonly committed?: () => void;
    }
  | {
      readonly kind: 'update';
      readonly entity: EntityName<object>;
      readonly where: object;
      readonly data: object;
      readonly expect: number | undefined;
    };

type RowData<E> = Omit<RequiredEntityData<E>, typeof TENANT_PROPERTY> & { [TENANT_PROPERTY]?: string };

/**
 * The writes that `writeTogether` takes.
 *
 * @example
 * const isStored = await entities.writeTogether([
 *   writes.update(Account, { id, revision: 3 }, { balance: 70, revision: 4 }, { expect: 1 }),
 *   writes.insert(Booking, [{ id: ids.uuid(), accountId: id, amount: -30 }]),
 * ]);
 */
export const writes = {
  /** New rows, in one statement; the tenant is added by itself. No rows, no statement. */
  insert: <E extends object>(entity: EntityName<E>, rows: readonly RowData<NoInfer<E>>[]): RowWrite => ({
    kind: 'insert',
    entity: entity as EntityName<object>,
    rows: rows as readonly Readonly<Record<string, unknown>>[],
  }),
  /** Changes all rows that match. With `expect` the whole is undone unless exactly so many do. */
  update: <E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    data: EntityData<NoInfer<E>>,
    { expect }: { readonly expect?: number } = {},
  ): RowWrite => ({ kind: 'update', entity: entity as EntityName<object>, where, data, expect }),
};
