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
  readonly tenant_id: string;
  readonly to_seq: unknown;
  readonly created_at: unknown;
  readonly attempts: unknown;
  readonly claim: string | null;
}

/**
 * The outbox in a table of the database. Only the first row of a run is ever taken, and while it is there no other of the run: that keeps
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

  /** First rows of runs that are due, fair over tenants. */
  async function dueHeads(limit: number): Promise<readonly Head[]> {
    const now = await nowSql(database);
    const { rows } = await run(sql<Head>`
      select run_id, from_seq from (
        select run_id, from_seq, next_at, row_number() over (partition by tenant_id order by next_at, run_id) as turn
        from ${outbox} as head where next_at <= ${now} and not exists (
          select 1 from ${outbox} as earlier where earlier.run_id = head.run_id and earlier.from_seq < head.from_seq)) as due
      order by turn, next_at, run_id limit ${sql.lit(limit)}`);
    return rows;
  }

  /** Of those who claim a row at one time the first changes its time, and the others find it no longer due. */
  async function claimHeads(heads: readonly Head[], claim: string, claimMs: number): Promise<void> {
    const now = await nowSql(database);
    await run(sql`update ${outbox} set claim = ${claim}, next_at = ${now} + ${claimMs}, attempts = attempts + 1
      where next_at <= ${now} and ${either(heads.map((head) => sql`${isRow(head)}`))}`);
  }

  /** The rows from the heads on, as far as one entry reaches. */
  async function rowsFrom(heads: readonly Head[]): Promise<readonly Row[]> {
    const reach = heads.map(
      ({ run_id, from_seq }) => sql`run_id = ${run_id} and from_seq >= ${Number(from_seq)}
        and from_seq < ${Number(from_seq) + MAX_EVENTS}`,
    );
    const { rows } = await run(sql<Row>`
      select run_id, from_seq, tenant_id, to_seq, created_at, attempts, claim from ${outbox}
      where ${either(reach)} order by run_id, from_seq`);
    return rows;
  }

  return {
    async take({ limit, claimMs }) {
      const heads = await dueHeads(limit);
      if (heads.length === 0) return [];
      const claim = ids.uuid();
      await claimHeads(heads, claim, claimMs);
      const rows = Map.groupBy(await rowsFrom(heads), (row) => row.run_id);
      return heads.flatMap(({ run_id }) => entryOf(rows.get(run_id) ?? [], claim) ?? []);
    },

    async done(entries) {
      if (entries.length === 0) return;
      const delivered = entries.map(
        ({ runId, fromSeq, toSeq }) =>
          sql`run_id = ${runId} and from_seq >= ${fromSeq} and to_seq <= ${toSeq}`,
      );
      await run(sql`delete from ${outbox} where ${either(delivered)}`);
    },

    async postpone({ runId, fromSeq, claim }, delayMs) {
      const now = await nowSql(database);
      await run(sql`update ${outbox} set claim = null, next_at = ${now} + ${delayMs}
        where ${isRow({ run_id: runId, from_seq: fromSeq })} and claim = ${claim}`);
    },
  };
}

const isRow = ({ run_id, from_seq }: Head) => sql`run_id = ${run_id} and from_seq = ${Number(from_seq)}`;

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
    claim,
    fromSeq,
    toSeq,
    createdAt: Number(head.created_at),
    attempts: Number(head.attempts),
  };
}
