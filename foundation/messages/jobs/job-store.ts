import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import type { Page } from '../../base/page.ts';
import type { Database, Family } from '../../data/database.ts';
import { RETRY_RACES, withRetries } from '../../data/retry.ts';
import type { JobState } from './jobs.ts';

/** How an attempt ended. `returned`: it was broken off by a stop and does not count. */
export type Settlement =
  | { readonly kind: 'done' }
  | { readonly kind: 'returned' }
  | { readonly kind: 'retry'; readonly delay: number; readonly error: string }
  | { readonly kind: 'dead'; readonly error: string };

/** A job as the operator sees it. */
export interface JobRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly queue: string;
  readonly state: JobState;
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly error: string | null;
}

/** A job that this process has claimed. */
export interface ClaimedJob extends JobRecord {
  /** Names this attempt: a job that another attempt has now is not changed by it. */
  readonly ticket: string;
}

/** Which jobs a list shows; default all. */
export interface JobFilter {
  readonly queue?: string;
  readonly state?: JobState;
  readonly tenantId?: string;
}

/** What waits in one queue. */
export interface QueueDepth {
  readonly queue: string;
  readonly state: JobState;
  readonly count: number;
  /**
   * Milliseconds since its first job was due. Says something of jobs that wait: in other states the date has other
   * meanings.
   */
  readonly overdue: number;
}

/** What a sweep found. */
export interface Swept {
  /** Those of the queues asked for in which something waits. */
  readonly waiting: ReadonlySet<string>;
  /** Queues, of any replica, with something that the sweep itself let begin. */
  readonly begun: readonly string[];
  /** Jobs whose last attempt was lost with its process or its lease. */
  readonly died: readonly JobRecord[];
}

/** How long dead jobs are kept. */
const KEEP_DEAD_MS = 14 * 24 * 3_600_000;

/** Rows of one statement of MySQL's sweeps. */
const CHANGED = 1_000;

export type JobStore = ReturnType<typeof createJobStore>;

/**
 * The statements over the table of jobs, each a short transaction of its own. Leases are measured with the database's
 * clock.
 */
export function createJobStore(
  database: Pick<Database, 'system' | 'family'>,
  clock: Clock,
  keepDead = KEEP_DEAD_MS,
) {
  const { family } = database;
  const table = sql`kernel_jobs`;
  const serverNow: Readonly<Record<Exclude<Family, 'sqlite'>, RawBuilder<number>>> = {
    // Not `clock_timestamp()`, which may differ from row to row: no index finds what is before it.
    postgres: sql`(extract(epoch from statement_timestamp()) * 1000)::bigint`,
    mysql: sql`cast(unix_timestamp(now(3)) * 1000 as signed)`,
  };
  const now = () => (family === 'sqlite' ? sql<number>`${clock.now()}` : serverNow[family]);
  const after = (milliseconds: number) => sql`${now()} + ${Math.ceil(milliseconds)}`;

  async function run<Row = unknown>(statement: RawBuilder<Row>) {
    const attempt = async () =>
      statement.execute(database.system().getKysely() as unknown as Kysely<unknown>);
    const result = await withRetries(RETRY_RACES.retries, attempt);
    return { rows: result.rows as Row[], changed: Number(result.numAffectedRows ?? 0) };
  }

  const whole = sql`id, tenant_id, queue, state, payload, attempt, max_attempts, created_at, due_at, error`;

  /**
   * The next job of a tenant after `cursor`, in the order of the tenants: claiming them one by one with a cursor is
   * fair among tenants.
   */
  async function claim(
    queue: string,
    cursor: string,
    ticket: string,
    lease: number,
  ): Promise<ClaimedJob | undefined> {
    const change = sql`update ${table} set state = 'running', attempt = attempt + 1, unique_key = null,
      ticket = ${ticket}, due_at = ${after(lease)}`;
    const next = sql`queue = ${queue} and state = 'waiting' and tenant_id > ${cursor}`;
    const order = sql`order by tenant_id, due_at, id limit 1`;
    if (family === 'mysql') {
      // MySQL does not let an update read its own table.
      const { changed } = await run(sql`${change} where ${next} ${order}`);
      if (changed === 0) return undefined;
      const { rows } = await run(
        sql<StoredRow>`select ${whole} from ${table} where queue = ${queue} and state = 'running' and ticket = ${ticket}`,
      );
      return rows[0] && { ...jobRecord(rows[0]), ticket };
    }
    const skip = family === 'postgres' ? sql`for update skip locked` : sql``;
    const { rows } = await run(sql<StoredRow>`${change}
      where id = (select id from ${table} where ${next} ${order} ${skip}) returning ${whole}`);
    return rows[0] && { ...jobRecord(rows[0]), ticket };
  }

  /**
   * Changes all jobs that meet a condition; gives how many. MySQL also locks the row behind those that an index finds,
   * and waits where a transaction has just inserted that: there they are found first, and changed by their ids.
   */
  async function changeAll(changes: RawBuilder<unknown>, condition: RawBuilder<unknown>): Promise<number> {
    if (family !== 'mysql')
      return (await run(sql`update ${table} set ${changes} where ${condition}`)).changed;
    for (let all = 0; ; ) {
      const { rows } = await run(
        sql<{ id: string }>`select id from ${table} where ${condition} limit ${CHANGED}`,
      );
      if (rows.length === 0) return all;
      const { changed } = await run(sql`update ${table} force index (primary) set ${changes}
        where id in (${sql.join(rows.map(({ id }) => id))}) and ${condition}`);
      all += changed;
      if (rows.length < CHANGED) return all;
    }
  }

  /** One statement for all of them, which reads one entry of the index for each, however much waits. */
  async function waitingAmong(queues: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    if (queues.size === 0) return queues;
    const each = [...queues].map(
      (queue) => sql`select ${queue} as queue
        where exists (select 1 from ${table} where queue = ${queue} and state = 'waiting')`,
    );
    const { rows } = await run(sql<{ queue: string }>`${sql.join(each, sql` union all `)}`);
    return new Set(rows.map(({ queue }) => queue));
  }

  /** One look for all: mostly there is nothing, and a change of no rows locks SQLite as any other. */
  async function isAny(...conditions: readonly RawBuilder<unknown>[]): Promise<boolean> {
    const each = conditions.map((one) => sql`exists (select 1 from ${table} where ${one})`);
    const { rows } = await run(
      sql<{ found: unknown }>`select case when ${sql.join(each, sql` or `)} then 1 else 0 end as found`,
    );
    return Number(rows[0]?.found) === 1;
  }

  /** Ends jobs one by one: each is told by the replica that ended it, and by no other. Few die like that. */
  async function endLost(lost: RawBuilder<unknown>): Promise<readonly JobRecord[]> {
    const { rows } = await run(sql<StoredRow>`select ${whole} from ${table} where ${lost} limit 100`);
    const error = 'its process died, or lost its lease';
    const died: JobRecord[] = [];
    for (const job of rows.map(jobRecord)) {
      const { changed } = await run(sql`update ${table} set state = 'dead', due_at = ${after(keepDead)},
        ticket = null, error = ${error} where id = ${job.id} and ${lost}`);
      if (changed > 0) died.push({ ...job, state: 'dead', error });
    }
    return died;
  }

  const conditions = ({ queue, state, tenantId }: JobFilter) => {
    const all = [sql`1 = 1`];
    if (queue !== undefined) all.push(sql`queue = ${queue}`);
    if (state !== undefined) all.push(sql`state = ${state}`);
    if (tenantId !== undefined) all.push(sql`tenant_id = ${tenantId}`);
    return sql.join(all, sql` and `);
  };

  return {
    claim,

    /** Prolongs leases. Gives the tickets that still have their job. */
    async renew(tickets: readonly string[], lease: number): Promise<ReadonlySet<string>> {
      const held = sql`ticket in (${sql.join(tickets)}) and state = 'running'`;
      const { changed } = await run(sql`update ${table} set due_at = ${after(lease)} where ${held}`);
      if (changed === tickets.length) return new Set(tickets);
      const { rows } = await run(sql<{ ticket: string }>`select ticket from ${table} where ${held}`);
      return new Set(rows.map(({ ticket }) => ticket));
    },

    /** Notes the end of an attempt. False when another attempt has the job now. */
    async settle({ id, ticket }: Pick<ClaimedJob, 'id' | 'ticket'>, end: Settlement): Promise<boolean> {
      const mine = sql`id = ${id} and ticket = ${ticket} and state = 'running'`;
      const to = (state: JobState, due: RawBuilder<unknown>, rest: RawBuilder<unknown>) =>
        sql`update ${table} set state = ${state}, due_at = ${due}, ticket = null, ${rest} where ${mine}`;
      const error = 'error' in end ? sql`error = ${end.error}` : sql``;
      const statements = {
        done: () => sql`delete from ${table} where ${mine}`,
        returned: () => to('waiting', sql`created_at`, sql`attempt = attempt - 1`),
        retry: () => to('scheduled', after('delay' in end ? end.delay : 0), error),
        dead: () => to('dead', after(keepDead), error),
      };
      return (await run(statements[end.kind]())).changed > 0;
    },

    /**
     * Moves on what is due: jobs whose time has come, leases that have ended, dead ones that are old. Then looks where
     * something waits.
     *
     * @param queues those of this process
     * @param lease milliseconds: a lease that ends much later was given by a clock that was ahead, and is cut to that.
     * An attempt that lives renews it.
     */
    async sweep(queues: ReadonlySet<string>, lease: number): Promise<Swept> {
      const ahead = sql`state = 'running' and due_at > ${after(2 * lease)}`;
      const ended = sql`state = 'running' and due_at <= ${now()}`;
      const begins = sql`state = 'scheduled' and due_at <= ${now()}`;
      const old = sql`state = 'dead' and due_at <= ${now()}`;
      if (!(await isAny(ahead, ended, begins, old)))
        return { waiting: await waitingAmong(queues), begun: [], died: [] };
      await changeAll(sql`due_at = ${after(lease)}`, ahead);
      const died = await endLost(sql`${ended} and attempt >= max_attempts`);
      const again = await changeAll(
        sql`state = 'waiting', due_at = created_at, ticket = null`,
        sql`${ended} and attempt < max_attempts`,
      );
      const due = await changeAll(sql`state = 'waiting'`, begins);
      await run(sql`delete from ${table} where ${old}`);
      const waiting = await waitingAmong(queues);
      if (again + due === 0) return { waiting, begun: [], died };
      const { rows } = await run(
        sql<{ queue: string }>`select distinct queue from ${table} where state = 'waiting'`,
      );
      return { waiting, begun: rows.map(({ queue }) => queue), died };
    },

    /** Milliseconds until the next job is due; undefined when none is scheduled. */
    async nextDue(): Promise<number | undefined> {
      const { rows } = await run(sql<{ wait: unknown }>`
        select min(due_at) - ${now()} as wait from ${table} where state = 'scheduled'`);
      const wait = rows[0]?.wait;
      return wait === null || wait === undefined ? undefined : Number(wait);
    },

    async depths(): Promise<readonly QueueDepth[]> {
      const { rows } = await run(sql<Record<'queue' | 'state' | 'count' | 'age', unknown>>`
        select queue, state, count(*) as count, ${now()} - min(due_at) as age from ${table} group by queue, state`);
      return rows.map((row) => ({
        queue: String(row.queue),
        state: row.state as JobState,
        count: Number(row.count),
        overdue: Math.max(0, Number(row.age)),
      }));
    },

    /** One page, the newest first, and the number of all that match. */
    async list(
      filter: JobFilter,
      { limit, offset }: Page,
    ): Promise<{ readonly jobs: readonly JobRecord[]; readonly total: number }> {
      const where = conditions(filter);
      const { rows } = await run(sql<StoredRow>`select ${whole} from ${table} where ${where}
        order by created_at desc, id desc limit ${limit} offset ${offset}`);
      const counted = await run(
        sql<{ total: unknown }>`select count(*) as total from ${table} where ${where}`,
      );
      return { jobs: rows.map(jobRecord), total: Number(counted.rows[0]?.total) };
    },

    async find(id: string): Promise<JobRecord | undefined> {
      const { rows } = await run(sql<StoredRow>`select ${whole} from ${table} where id = ${id}`);
      return rows[0] && jobRecord(rows[0]);
    },

    /** Has a dead job begin again, with all of its attempts. False when it is not dead. */
    async revive(id: string): Promise<boolean> {
      const { changed } =
        await run(sql`update ${table} set state = 'waiting', attempt = 0, due_at = created_at
        where id = ${id} and state = 'dead'`);
      return changed > 0;
    },

    /** Deletes a dead job. False when it is not dead. */
    async bury(id: string): Promise<boolean> {
      return (await run(sql`delete from ${table} where id = ${id} and state = 'dead'`)).changed > 0;
    },
  };
}

/** A row as the drivers give it; numbers may be texts. */
type StoredRow = Readonly<Record<string, unknown>>;

function jobRecord(row: StoredRow): JobRecord {
  return {
    id: String(row.id),
    tenantId: String(row.tenant_id),
    queue: String(row.queue),
    state: row.state as JobState,
    payload: String(row.payload),
    attempt: Number(row.attempt),
    maxAttempts: Number(row.max_attempts),
    createdAt: Number(row.created_at),
    dueAt: Number(row.due_at),
    error: row.error === null || row.error === undefined ? null : String(row.error),
  };
}
