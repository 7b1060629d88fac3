import type { EntityData, EntityName } from '@mikro-orm/core';
import type { TenantData } from '../tenancy.ts';
import type { PlainWhere } from './conditions.ts';
import type { Statement } from './statement.ts';
import type { Answer, Place, RunFused } from './statement-runner.ts';

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
    }
  | {
      readonly kind: 'delete';
      readonly entity: EntityName<object>;
      readonly where: object;
      readonly expect: number | undefined;
    };

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
  /** New rows, in one statement; the tenant is added automatically. No rows, no statement. */
  insert: <E extends object>(entity: EntityName<E>, rows: readonly TenantData<NoInfer<E>>[]): RowWrite => ({
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
  /** Deletes all rows that match. `expect` as of an update. */
  delete: <E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    { expect }: { readonly expect?: number } = {},
  ): RowWrite => ({ kind: 'delete', entity: entity as EntityName<object>, where, expect }),
};

/** A write that is ready to run. */
export interface ReadyWrite {
  readonly statement: Statement;
  /** Rows that it has to match; undefined: any number. */
  readonly expect: number | undefined;
}

type Run = (statement: Statement, place: Place) => Promise<Answer>;

/** PostgreSQL's code of a division by zero. */
const DIVISION_BY_ZERO = '22012';

/**
 * Runs the writes in an open transaction, one after the other. False at the first that matched another number of rows.
 */
export async function runInOrder(run: Run, ready: readonly ReadyWrite[], place: Place): Promise<boolean> {
  for (const { statement, expect } of ready) {
    const { numAffectedRows } = await run(statement, place);
    if (expect !== undefined && Number(numAffectedRows ?? 0) !== expect) return false;
  }
  return true;
}

/** Runs `work` in a transaction of its own, which is undone when it throws. */
export type Begin = (work: (place: Place) => Promise<void>) => Promise<void>;

/** Undoes a transaction whose writes did not match. */
const UNDO = Symbol('undo');

/** Runs the writes in a transaction of their own, which is undone when one matched another number of rows. */
export async function runUndoable(run: Run, ready: readonly ReadyWrite[], begin: Begin): Promise<boolean> {
  try {
    await begin(async (inside) => {
      if (!(await runInOrder(run, ready, inside))) throw UNDO;
    });
    return true;
  } catch (reason) {
    if (reason === UNDO) return false;
    throw reason;
  }
}

/**
 * Runs the writes on PostgreSQL as one message, which the server treats as one transaction: one round trip, whatever
 * their number. What an update matched is not known here before the message ends, so the server itself checks it: by a
 * division that fails, and undoes all. No row comes back.
 */
export async function runAsMessage(
  run: RunFused,
  ready: readonly ReadyWrite[],
  place: Place,
): Promise<boolean> {
  try {
    await run(ready.map(checked), place);
    return true;
  } catch (error) {
    // No statement of these divides but for the check.
    if ((error as { code?: unknown }).code === DIVISION_BY_ZERO) return false;
    throw error;
  }
}

function checked({ statement, expect }: ReadyWrite): Statement {
  if (expect === undefined) return statement;
  return (put) =>
    `with matched as (${statement(put)} returning 1) select from matched having 1 / (count(*) = ${put(expect)})::int = 0`;
}
