import { type Database, RETRY_RACES } from 'agent-gateway';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { createEngineSql, nowSql } from './engine-sql.ts';
import { READY, type WorkflowTables } from './tables.ts';

/** Names a row of a sink. */
export interface RowKey {
  readonly runId: string;
  readonly fromSeq: number;
}

/** A row that may be due, and what is known of the first one of its run. Times are the database's. */
export interface WaitingRow extends RowKey {
  readonly tenantId: string;
  readonly createdAt: number;
  readonly firstSeq: number;
  /** `READY`, or when the first one is checked again. */
  readonly firstNextAt: number;
  /** When this was read. */
  readonly now: number;
}

/** A row of an entry. */
export interface ReachedRow extends RowKey {
  readonly tenantId: string;
  readonly toSeq: number;
  readonly ageMs: number;
  readonly attempts: number;
  readonly claim: string | null;
}

type Columns<Row> = { readonly [Name in keyof Row]: unknown };
type Condition = RawBuilder<unknown>;

/**
 * The statements that find rows and change their turn, each a transaction of its own. No statement that changes several
 * rows waits for another statement while it holds some of them: PostgreSQL skips locked rows, MySQL repeats a change
 * that lost a race, SQLite has one writer.
 */
export function createOutboxRows(database: Database, tables: WorkflowTables) {
  const run = createEngineSql(database);
  const outbox = sql.table(tables.outbox.meta.tableName);
  const { family } = database;

  async function waiting(now: Condition, which: Condition, order: Condition, limit: number) {
    const first = (column: Condition) => sql`(select ${column} from ${outbox} as earlier
      where earlier.run_id = here.run_id and earlier.sink = here.sink order by earlier.from_seq limit 1)`;
    const { rows } = await run(sql<Columns<WaitingRow>>`
      select run_id as ${sql.ref('runId')}, from_seq as ${sql.ref('fromSeq')}, tenant_id as ${sql.ref('tenantId')},
        created_at as ${sql.ref('createdAt')}, ${first(sql`earlier.from_seq`)} as ${sql.ref('firstSeq')},
        ${first(sql`earlier.next_at`)} as ${sql.ref('firstNextAt')}, ${now} as ${sql.ref('now')}
      from ${outbox} as here where ${which} order by ${order} limit ${sql.lit(limit)}`);
    return withNumbers(rows, ['fromSeq', 'createdAt', 'firstSeq', 'firstNextAt', 'now']);
  }

  async function change(statement: Condition): Promise<number> {
    if (family !== 'mysql') return (await run(statement)).changed;
    const { numAffectedRows } = await database.transaction(
      (em) => statement.execute(em.getKysely() as Kysely<unknown>),
      RETRY_RACES,
    );
    return Number(numAffectedRows ?? 0);
  }

  const update = (set: Condition, which: Condition) =>
    change(
      family === 'postgres'
        ? sql`update ${outbox} set ${set}
            where ctid = any(array(select ctid from ${outbox} where ${which} for update skip locked))`
        : sql`update ${outbox} set ${set} where ${which}`,
    );

  /**
   * Makes rows ready that became the first of their runs while they were being put off: the process that removed the
   * row before them may have looked too early.
   */
  async function wakeFirsts(sink: string, keys: readonly RowKey[]): Promise<void> {
    const { rows } = await run(sql<Columns<RowKey>>`
      select run_id as ${sql.ref('runId')}, from_seq as ${sql.ref('fromSeq')} from ${outbox} as here
      where ${these(sink, keys)} and from_seq = (select min(earlier.from_seq) from ${outbox} as earlier
        where earlier.run_id = here.run_id and earlier.sink = here.sink)`);
    if (rows.length === 0) return;
    const woken = these(sink, withNumbers(rows, ['fromSeq']));
    await change(sql`update ${outbox} set next_at = ${READY} where ${woken} and claim is null`);
  }

  return {
    /**
     * Rows that are ready, tenant by tenant in the order of their ids, the oldest of each first: of tenants after one,
     * and up to another one.
     */
    async ready(sink: string, after: string, upTo: string | undefined, limit: number) {
      const last = upTo === undefined ? sql`` : sql` and tenant_id <= ${upTo}`;
      return await waiting(
        await nowSql(database),
        sql`sink = ${sink} and next_at = ${READY} and tenant_id > ${after}${last}`,
        sql`tenant_id, created_at, run_id, from_seq`,
        limit,
      );
    },

    /** Rows whose time has come, the earliest first. */
    async timely(sink: string, limit: number) {
      const now = await nowSql(database);
      return await waiting(
        now,
        sql`sink = ${sink} and next_at > ${READY} and next_at <= ${now}`,
        sql`next_at, tenant_id, created_at, run_id, from_seq`,
        limit,
      );
    },

    /** Makes rows ready whose time has come. Gives how many. */
    async release(sink: string, keys: readonly RowKey[]): Promise<number> {
      if (keys.length === 0) return 0;
      const now = await nowSql(database);
      return await update(
        sql`next_at = ${READY}`,
        sql`${these(sink, keys)} and ${nextAt} > ${READY} and ${nextAt} <= ${now}`,
      );
    },

    /** Leaves rows alone that are behind another one of their run, up to a moment by run. Gives how many. */
    async park(sink: string, keys: readonly RowKey[], until: ReadonlyMap<string, number>): Promise<number> {
      if (keys.length === 0) return 0;
      const now = await nowSql(database);
      const times = [...until].map(([runId, at]) => sql`when ${runId} then ${sql.lit(at)}`);
      const parked = await update(
        sql`next_at = case run_id ${sql.join(times, sql` `)} else next_at end`,
        sql`${these(sink, keys)} and ${nextAt} <= ${now} and claim is null`,
      );
      await wakeFirsts(sink, keys);
      return parked;
    },

    /**
     * Of several processes that claim a row at one time the first changes its time, and the others find it no longer
     * ready.
     */
    async claim(sink: string, keys: readonly RowKey[], claim: string, claimMs: number): Promise<void> {
      const now = await nowSql(database);
      await update(
        sql`claim = ${claim}, next_at = ${now} + ${claimMs}, attempts = attempts + 1`,
        sql`${these(sink, keys)} and ${nextAt} = ${READY}`,
      );
    },

    /** The rows from each of these on, for so many numbers, run by run in their order. */
    async from(sink: string, keys: readonly RowKey[], numbers: number): Promise<readonly ReachedRow[]> {
      const now = await nowSql(database);
      const reach = keys.map(
        ({ runId, fromSeq }) =>
          sql`(run_id = ${runId} and sink = ${sink} and from_seq >= ${fromSeq} and from_seq < ${fromSeq + numbers})`,
      );
      const { rows } = await run(sql<Columns<ReachedRow>>`
        select run_id as ${sql.ref('runId')}, from_seq as ${sql.ref('fromSeq')}, tenant_id as ${sql.ref('tenantId')},
          to_seq as ${sql.ref('toSeq')}, ${now} - created_at as ${sql.ref('ageMs')}, attempts, claim
        from ${outbox} where ${sql.join(reach, sql` or `)} order by run_id, from_seq`);
      return withNumbers(rows, ['fromSeq', 'toSeq', 'ageMs', 'attempts']);
    },

    /** Gives how many there were. */
    remove: (sink: string, keys: readonly RowKey[]): Promise<number> =>
      change(sql`delete from ${outbox} where ${these(sink, keys)}`),

    change,
  };
}

/** Rows of a statement, with numbers in these columns: drivers give text for those that could be too large for them. */
function withNumbers<Row>(rows: readonly Columns<Row>[], names: readonly (keyof Row)[]): readonly Row[] {
  return rows.map((row) => {
    const numbers = names.map((name) => [name, Number(row[name])]);
    return { ...row, ...Object.fromEntries(numbers) } as Row;
  });
}

/** Rows by their keys, each of which is searched by its whole key. */
function these(sink: string, keys: readonly RowKey[]): Condition {
  const each = keys.map(
    ({ runId, fromSeq }) => sql`(run_id = ${runId} and sink = ${sink} and from_seq = ${fromSeq})`,
  );
  return sql`(${sql.join(each, sql` or `)})`;
}

/** The turn of a row whose key is known: no index is to be searched for it, as all that is ready would be read. */
const nextAt = sql`next_at + 0`;
