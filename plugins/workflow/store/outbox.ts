import type { Ids } from 'agent-gateway';
import { sql } from 'kysely';
import type { RunPlace } from '../contract/engine.ts';
import { createEngineSql, nowSql } from './engine-sql.ts';
import { createOutboxRows, type ReachedRow, type RowKey, type WaitingRow } from './outbox-rows.ts';
import { type EngineStorage, READY } from './tables.ts';

/**
 * Events of one run that a sink does not have yet, taken for a while: no other process gets events of this run for this
 * sink until the claim is over.
 */
export interface OutboxEntry extends RunPlace {
  /** Name of the sink that they are for. */
  readonly sink: string;
  /** Names the claim. */
  readonly claim: string;
  /** Numbers of the first and the last event. */
  readonly fromSeq: number;
  readonly toSeq: number;
  /** How long ago the first of them was written, when they were taken. Milliseconds by the database's clock. */
  readonly ageMs: number;
  /** How often they were taken, this time included; taken entries that were given back do not count. */
  readonly attempts: number;
}

/** Which entries to take. */
export interface TakeRequest {
  readonly sink: string;
  readonly limit: number;
  readonly claimMs: number;
  /** How many entries of a tenant may be taken, 0 for none. Called for tenants that have something due. */
  readonly room: Room;
}

/** What was taken. */
export interface Taken {
  readonly entries: readonly OutboxEntry[];
  /** Whether the look ended before it was through: the next one may find more at once. */
  readonly hasMore: boolean;
}

/** Events of one run that are given out together. */
const MAX_EVENTS = 500;
/** Rows that are read together in the search for what is ready. */
const PAGE = 64;
/** Pages that one look reads at most. Each but the last ones goes on with another tenant. */
const MAX_PAGES = 32;
/** Rows that one look makes ready since their time has come, and that are forgotten together. */
const BATCH = 128;
/** Milliseconds that rows behind another one are left alone longer than that one: by then it has its next time. */
const BEHIND_MS = 60_000;
/**
 * Milliseconds, longer than any claim or pause: what is put off so far was put off by a clock that was ahead, and set
 * back since.
 */
const AHEAD_MS = 2 * 3_600_000;
/** Sinks whose events can wait at one time; more are not looked for. */
const MAX_SINKS = 1_000;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Events that wait for their delivery, over all tenants, for each sink on its own, in a table of the database. Each is
 * delivered at least once, those of a run in order. Rejects with what the database throws.
 *
 * For each run and sink only the first row is ever taken, and no other one while it exists: that keeps the run's events
 * in order.
 *
 * A commit inserts rows as ready, without checking what else waits. A look that finds a row behind another row of its
 * run puts it off until a minute after that row's time, so that not every look reads it again; the process that removes
 * the first row of a run makes the next one ready. If that process dies in between, the delivery is a minute late, and
 * no event is lost.
 */
export function createOutbox({ database, tables, ids }: EngineStorage & { readonly ids: Ids }) {
  const run = createEngineSql(database);
  const rows = createOutboxRows(database, tables);
  const outbox = sql.table(tables.outbox.meta.tableName);
  /**
   * After which tenant the next look begins, by sink. There are as many as sinks ever came in the life of the process.
   */
  const begins = new Map<string, string>();

  /**
   * Makes rows ready that were put off until now, except for those still behind another row. True when there may be
   * more.
   */
  async function release(sink: string): Promise<boolean> {
    const timely = await rows.timely(sink, BATCH);
    if (timely.length === 0) return false;
    const isBehind = (row: WaitingRow) => row.fromSeq !== row.firstSeq && row.firstNextAt > row.now;
    const [late, due] = [timely.filter(isBehind), timely.filter((row) => !isBehind(row))];
    const until = new Map(late.map(({ runId, firstNextAt }) => [runId, firstNextAt + BEHIND_MS]));
    const changed = (await rows.release(sink, due)) + (await rows.park(sink, late, until));
    return changed > 0 && timely.length === BATCH;
  }

  /**
   * Ready rows of some tenants: of all, or of as many as are needed to take enough rows. The next look begins after
   * them.
   */
  async function someReady(sink: string, room: Room, limit: number): Promise<readonly WaitingRow[]> {
    const start = begins.get(sink) ?? '';
    const found: WaitingRow[] = [];
    let after = start;
    let isAround = start === '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const some = await rows.ready(sink, after, isAround && start !== '' ? start : undefined, PAGE);
      found.push(...some.filter(({ tenantId }) => room(tenantId) > 0));
      const isEnd = some.length < PAGE;
      if (isEnd && isAround) {
        begins.delete(sink);
        return found;
      }
      isAround ||= isEnd;
      after = isEnd ? '' : some.at(-1)!.tenantId;
      if (turnsOf(found, room, limit).length === limit) break;
    }
    begins.set(sink, after);
    return found;
  }

  /**
   * Takes what is due for a sink, for `claimMs`: one entry a run, with all of its events that wait (500 at most, or
   * those of one commit), fair over tenants (the first of each, then the second …), older first. Of several callers at
   * one time each gets other entries. The work of one call is bounded, however much waits.
   */
  async function take({ sink, limit, claimMs, room: ask }: TakeRequest): Promise<Taken> {
    const room = roomOnce(ask);
    const isReleasing = await release(sink);
    const found = await someReady(sink, room, limit);
    const heads = turnsOf(found, room, limit);
    const { keys, until } = behind(found, heads, claimMs);
    const later = new Map([...until].map(([runId, at]) => [runId, at + BEHIND_MS]));
    const hasMore = (await rows.park(sink, keys, later)) > 0 || isReleasing;
    if (heads.length === 0) return { entries: [], hasMore };
    const claim = ids.uuid();
    await rows.claim(sink, heads, claim, claimMs);
    const reached = Map.groupBy(await rows.from(sink, heads, MAX_EVENTS), ({ runId }) => runId);
    return {
      entries: heads.flatMap(({ runId }) => entryOf(sink, reached.get(runId) ?? [], claim) ?? []),
      hasMore,
    };
  }

  /**
   * Whether the entry still holds its claim. As a derived table, since MySQL cannot read the table that a statement
   * changes.
   */
  const isClaimed = ({ runId, sink, fromSeq, claim }: OutboxEntry) => sql`(select mine.rows_found from
    (select count(*) as rows_found from ${outbox}
      where run_id = ${runId} and sink = ${sink} and from_seq = ${fromSeq} and claim = ${claim}) as mine) = 1`;

  /** Makes the first row ready that is left of a run. True when there is one, and it is not claimed. */
  async function wakeNext({ runId, sink }: OutboxEntry): Promise<boolean> {
    const woken = await rows.change(sql`update ${outbox} set next_at = ${READY}
      where run_id = ${runId} and sink = ${sink} and claim is null and from_seq = (select next_one.first_seq from
        (select min(from_seq) as first_seq from ${outbox} where run_id = ${runId} and sink = ${sink}) as next_one)`);
    return woken > 0;
  }

  async function putOff({ runId, sink, fromSeq, claim }: OutboxEntry, delayMs: number, counted: number) {
    const now = await nowSql(database);
    const nextAt = delayMs === 0 ? sql`${READY}` : sql`${now} + ${delayMs}`;
    await run(sql`update ${outbox} set claim = null, next_at = ${nextAt}, attempts = attempts - ${sql.lit(1 - counted)}
      where run_id = ${runId} and sink = ${sink} and from_seq = ${fromSeq} and claim = ${claim}`);
  }

  /** Names of the sinks for which something waits. */
  async function sinksThatWait(): Promise<readonly string[]> {
    const names: string[] = [];
    while (names.length < MAX_SINKS) {
      const { rows: found } = await run(sql<{ readonly sink: string | null }>`
        select min(sink) as sink from ${outbox} where sink > ${names.at(-1) ?? ''}`);
      const sink = found[0]?.sink ?? undefined;
      if (sink === undefined) break;
      names.push(sink);
    }
    return names;
  }

  /**
   * Deletes a sink's rows of that age, if no replica has taken any of its rows for that long: the sink is registered in
   * no replica.
   */
  async function forgetOf(sink: string, olderThanMs: number): Promise<number> {
    const then = sql`${await nowSql(database)} - ${olderThanMs}`;
    const { rows: touched } = await run(sql<{ readonly one: unknown }>`
      select 1 as one from ${outbox} where sink = ${sink} and next_at > ${then} limit 1`);
    if (touched.length > 0) return 0;
    let events = 0;
    for (;;) {
      const { rows: old } = await run(sql<Pick<ReachedRow, 'runId' | 'fromSeq' | 'toSeq'>>`
        select run_id as ${sql.ref('runId')}, from_seq as ${sql.ref('fromSeq')}, to_seq as ${sql.ref('toSeq')}
        from ${outbox} where sink = ${sink} and created_at < ${then} limit ${sql.lit(BATCH)}`);
      if (old.length === 0) return events;
      if ((await rows.remove(sink, old)) === 0) return events;
      events += eventsOf(old);
    }
  }

  /** Makes a sink's rows ready that would wait until the time of a clock which was ahead comes. */
  async function followClock(sink: string): Promise<void> {
    const tooLate = sql`next_at > ${await nowSql(database)} + ${AHEAD_MS}`;
    await rows.change(sql`update ${outbox} set next_at = ${READY} where sink = ${sink} and ${tooLate}`);
  }

  return {
    take,

    /**
     * Forgets events that were delivered. True when more of the run waits, and is due now. Does nothing, and returns
     * false, when another process has them.
     */
    async done(entry: OutboxEntry): Promise<boolean> {
      const { runId, sink, fromSeq, toSeq } = entry;
      const removed = await rows.change(sql`delete from ${outbox} where run_id = ${runId} and sink = ${sink}
        and from_seq >= ${fromSeq} and to_seq <= ${toSeq} and ${isClaimed(entry)}`);
      // After the removal, and not together with it: a look that puts off rows behind the removed one checks again
      // afterwards.
      return removed > 0 && (await wakeNext(entry));
    },

    /**
     * Puts off an entry that the sink refused: it is taken again after `delayMs`. Does nothing if the claim has expired
     * and another process has the entry.
     */
    postpone: (entry: OutboxEntry, delayMs: number) => putOff(entry, delayMs, 1),
    /** Like `postpone`, of an entry with which nothing was tried: the attempt does not count. */
    giveBack: (entry: OutboxEntry, delayMs: number) => putOff(entry, delayMs, 0),

    /**
     * Forgets those events of an entry whose commits are older than `olderThanMs` by the database's clock, and makes
     * the rest due now. Returns how many were deleted; 0, without any change, when another process has the entry.
     */
    async giveUp(entry: OutboxEntry, olderThanMs: number): Promise<number> {
      const { runId, sink, fromSeq, toSeq } = entry;
      const now = await nowSql(database);
      const { rows: old } = await run(sql<Pick<ReachedRow, 'fromSeq' | 'toSeq'>>`
        select from_seq as ${sql.ref('fromSeq')}, to_seq as ${sql.ref('toSeq')} from ${outbox}
        where run_id = ${runId} and sink = ${sink} and from_seq >= ${fromSeq} and to_seq <= ${toSeq}
          and created_at < ${now} - ${olderThanMs}`);
      if (old.length === 0) return 0;
      const numbers = sql.join(old.map((row) => sql.lit(Number(row.fromSeq))));
      const removed = await rows.change(sql`delete from ${outbox} where run_id = ${runId} and sink = ${sink}
        and from_seq in (${numbers}) and ${isClaimed(entry)}`);
      if (removed === 0) return 0;
      await wakeNext(entry);
      return eventsOf(old);
    },

    /**
     * Deletes events older than `olderThanMs` of sinks that are not registered here, and of which no replica has taken
     * anything for that long. Returns how many events of which sinks. Makes events ready, too, that a clock which was
     * ahead has put off.
     */
    async forget({ olderThanMs, here }: { readonly olderThanMs: number; readonly here: readonly string[] }) {
      const forgotten: { readonly sink: string; readonly events: number }[] = [];
      for (const sink of await sinksThatWait()) {
        await followClock(sink);
        if (here.includes(sink)) continue;
        const events = await forgetOf(sink, olderThanMs);
        if (events > 0) forgotten.push({ sink, events });
      }
      return forgotten;
    },
  };
}

const eventsOf = (rows: readonly Pick<ReachedRow, 'fromSeq' | 'toSeq'>[]): number =>
  rows.reduce((events, { fromSeq, toSeq }) => events + Number(toSeq) - Number(fromSeq) + 1, 0);

/** The events of a run from its first row on, without a gap; undefined where another process has claimed it. */
function entryOf(
  sink: string,
  [head, ...others]: readonly ReachedRow[],
  claim: string,
): OutboxEntry | undefined {
  if (head?.claim !== claim) return undefined;
  const { runId, tenantId, fromSeq, ageMs, attempts } = head;
  let { toSeq } = head;
  for (const row of others) {
    // Events that the sink did not want when they happened are not in the outbox.
    if (row.fromSeq !== toSeq + 1 || row.toSeq >= fromSeq + MAX_EVENTS) break;
    toSeq = row.toSeq;
  }
  return { tenantId, runId, sink, claim, fromSeq, toSeq, ageMs, attempts };
}

/** How many entries of a tenant may be taken. */
type Room = (tenantId: string) => number;

/** A row that is the first of its run stays the first: no earlier row is inserted later. */
const isFirst = (row: WaitingRow) => row.fromSeq === row.firstSeq;

/** Asks each tenant's room once. */
function roomOnce(room: Room): Room {
  const known = new Map<string, number>();
  return (tenantId) => {
    const found = known.get(tenantId) ?? room(tenantId);
    known.set(tenantId, found);
    return found;
  };
}

/**
 * The rows to take next: the first rows of runs, for each tenant no more than it has room for, the first of each
 * tenant, then the second …; tenants with more room come first, then rows that have waited longer. Pure.
 */
function turnsOf(rows: readonly WaitingRow[], room: Room, limit: number): readonly WaitingRow[] {
  const turns = [...Map.groupBy(rows.filter(isFirst), ({ tenantId }) => tenantId)].flatMap(
    ([tenantId, heads]) => {
      const places = Math.min(room(tenantId), limit);
      return heads.slice(0, Math.max(0, places)).map((row, index) => ({ row, turn: index - places }));
    },
  );
  turns.sort((a, b) => a.turn - b.turn || a.row.createdAt - b.row.createdAt);
  return turns.slice(0, limit).map(({ row }) => row);
}

/** Rows behind a row of their run that waits or is taken now, and until when that row is not available. Pure. */
function behind(
  rows: readonly WaitingRow[],
  taken: readonly RowKey[],
  claimMs: number,
): { readonly keys: readonly RowKey[]; readonly until: ReadonlyMap<string, number> } {
  const takenRuns = new Set(taken.map(({ runId }) => runId));
  const keys: RowKey[] = [];
  const until = new Map<string, number>();
  for (const row of rows) {
    if (isFirst(row)) continue;
    const isTaken = row.firstNextAt === READY && takenRuns.has(row.runId);
    // Ready behind a row that is ready and not taken yet: both are taken together.
    if (!isTaken && row.firstNextAt <= row.now) continue;
    keys.push(row);
    until.set(row.runId, isTaken ? row.now + claimMs : row.firstNextAt);
  }
  return { keys, until };
}
