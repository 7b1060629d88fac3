import type { Database, Ids } from 'agent-gateway';
import { type RawBuilder, sql } from 'kysely';
import type { Outbox, OutboxEntry } from '../services/ports/outbox.ts';
import { nowSql } from './clock-sql.ts';
import { createEngineSql } from './engine-sql.ts';
import type { WorkflowTables } from './workflow-tables.ts';

/** Events of one run that are given out together. */
const MAX_EVENTS = 500;

interface Head {
  readonly run_id: string;
  readonly from_seq: unknown;
}

interface Row extends Head {
  readonly sink: string;
  readonly tenant_id: string;
  readonly to_seq: unknown;
  readonly created_at: unknown;
  readonly attempts: unknown;
  readonly claim: string | null;
}

/**
 * The outbox in a table of the database. Of a run and a sink only the first row is ever taken, and while it is there no other of them: that keeps
 * its events in order.
 */
export function createOutbox({
  database,
  tables,
  ids,
}: {
  readonly database: Database;
  readonly tables: WorkflowTables;
  readonly ids: Ids;
}): Outbox {
  const run = createEngineSql(database);
  const outbox = sql.table(tables.outbox.meta.tableName);

  /** First rows of runs that are due for a sink, fair over tenants. */
  async function dueHeads(sink: string, limit: number): Promise<readonly Head[]> {
    const now = await nowSql(database);
    const { rows } = await run(sql<Head>`
      select run_id, from_seq from (
        select run_id, from_seq, next_at, row_number() over (partition by tenant_id order by next_at, run_id) as turn
        from ${outbox} as head where sink = ${sink} and next_at <= ${now} and not exists (
          select 1 from ${outbox} as earlier
          where earlier.run_id = head.run_id and earlier.sink = head.sink and earlier.from_seq < head.from_seq)) as due
      order by turn, next_at, run_id limit ${sql.lit(limit)}`);
    return rows;
  }

  /** Of those who claim a row at one time the first changes its time, and the others find it no longer due. */
  async function claimHeads(
    sink: string,
    heads: readonly Head[],
    claim: string,
    claimMs: number,
  ): Promise<void> {
    const now = await nowSql(database);
    await run(sql`update ${outbox} set claim = ${claim}, next_at = ${now} + ${claimMs}, attempts = attempts + 1
      where next_at <= ${now} and ${either(heads.map((head) => isRow(sink, head)))}`);
  }

  /** The rows from the heads on, as far as one entry reaches. */
  async function rowsFrom(sink: string, heads: readonly Head[]): Promise<readonly Row[]> {
    const reach = heads.map(
      ({ run_id, from_seq }) => sql`run_id = ${run_id} and sink = ${sink} and from_seq >= ${Number(from_seq)}
        and from_seq < ${Number(from_seq) + MAX_EVENTS}`,
    );
    const { rows } = await run(sql<Row>`
      select run_id, sink, from_seq, tenant_id, to_seq, created_at, attempts, claim from ${outbox}
      where ${either(reach)} order by run_id, from_seq`);
    return rows;
  }

  return {
    async take({ sink, limit, claimMs }) {
      const heads = await dueHeads(sink, limit);
      if (heads.length === 0) return [];
      const claim = ids.uuid();
      await claimHeads(sink, heads, claim, claimMs);
      const rows = Map.groupBy(await rowsFrom(sink, heads), (row) => row.run_id);
      return heads.flatMap(({ run_id }) => entryOf(rows.get(run_id) ?? [], claim) ?? []);
    },

    async done({ runId, sink, fromSeq, toSeq }) {
      await run(sql`delete from ${outbox}
        where run_id = ${runId} and sink = ${sink} and from_seq >= ${fromSeq} and to_seq <= ${toSeq}`);
    },

    async postpone({ runId, sink, fromSeq, claim }, delayMs) {
      const now = await nowSql(database);
      await run(sql`update ${outbox} set claim = null, next_at = ${now} + ${delayMs}
        where ${isRow(sink, { run_id: runId, from_seq: fromSeq })} and claim = ${claim}`);
    },

    async forget({ dueForMs, here }) {
      const now = await nowSql(database);
      const isElsewhere = here.length === 0 ? sql`` : sql` and sink not in (${sql.join(here)})`;
      const isForgotten = sql`next_at < ${now} - ${dueForMs}${isElsewhere}`;
      const { rows } = await run(sql<{ readonly sink: string; readonly events: unknown }>`
        select sink, sum(to_seq - from_seq + 1) as events from ${outbox} where ${isForgotten} group by sink order by sink`);
      if (rows.length === 0) return [];
      await run(sql`delete from ${outbox} where ${isForgotten}`);
      return rows.map(({ sink, events }) => ({ sink, events: Number(events) }));
    },
  };
}

const isRow = (sink: string, { run_id, from_seq }: Head) =>
  sql`run_id = ${run_id} and sink = ${sink} and from_seq = ${Number(from_seq)}`;

const either = (conditions: readonly RawBuilder<unknown>[]) =>
  sql`(${sql.join(
    conditions.map((condition) => sql`(${condition})`),
    sql` or `,
  )})`;

/** The events of a run from its first row on, without a gap; undefined where somebody else has claimed it. */
function entryOf([head, ...others]: readonly Row[], claim: string): OutboxEntry | undefined {
  if (head?.claim !== claim) return undefined;
  const fromSeq = Number(head.from_seq);
  let toSeq = Number(head.to_seq);
  for (const row of others) {
    // What nobody wanted when it happened is not in the outbox.
    if (Number(row.from_seq) !== toSeq + 1 || Number(row.to_seq) >= fromSeq + MAX_EVENTS) break;
    toSeq = Number(row.to_seq);
  }
  return {
    tenantId: head.tenant_id,
    runId: head.run_id,
    sink: head.sink,
    claim,
    fromSeq,
    toSeq,
    createdAt: Number(head.created_at),
    attempts: Number(head.attempts),
  };
}
