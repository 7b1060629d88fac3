import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import { causesOf } from '../base/failure.ts';
import type { Database, Family } from '../data/database.ts';
import { RETRY_RACES, withRetries } from '../data/retry.ts';
import { type LeasePlace, TTL } from './lease-request.ts';
import { type LeaseStore, type LeaseTicket, PLACE_MS, type Renewal } from './lease-store.ts';
import type { HeldName } from './leases.ts';

/** Milliseconds for one statement, with the wait for a connection: far below the leases. */
const ANSWER_MS = 4_000;
/** Looks for a free slot before "full" is answered although one may just have become free. */
const ROUNDS = 8;
/** Slots that are made at one time. */
const NEW_SLOTS = 32;

/**
 * Leases in tables of the database (lease-tables.ts). The statement that grants is a single `update` of one row that is
 * free, so that of several processes one succeeds, and a slot has one holder because it is one row. In the usual case a
 * lease costs two statements: this one and the one of its release.
 */
export function createTableStore(database: Pick<Database, 'system' | 'family'>, clock: Clock): LeaseStore {
  const { family } = database;
  const isMySql = family === 'mysql';
  const serverNow: Readonly<Record<Exclude<Family, 'sqlite'>, RawBuilder<number>>> = {
    postgres: sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`,
    // The time at which the statement began: while it waited for a row, leases only became shorter.
    mysql: sql`cast(unix_timestamp(now(6)) * 1000000 as signed)`,
  };
  /** Microseconds of the database's clock; of the machine's on SQLite, where they are one. */
  const now = () => (family === 'sqlite' ? sql<number>`${clock.now() * 1_000}` : serverNow[family]);
  const after = (milliseconds: number) => sql<number>`${now()} + ${milliseconds * 1_000}`;
  // A released row may end later than the time at which a statement of another process began.
  const isLive = () => sql`name is not null and expires_at > ${now()}`;
  const at = ({ key, name }: LeasePlace) => sql`lease_key = ${key} and name = ${name}`;
  const of = (ticket: LeaseTicket) => sql`${at(ticket)} and ticket = ${ticket.id}`;
  /** Given by a clock that was ahead. */
  const isEarly = () => sql`expires_at > ${after(2 * TTL.most)}`;
  /** Tickets that are, or may be, in line. */
  const waiting = new Set<string>();

  /**
   * Runs one statement as a transaction of its own. @throws DeadlineError; the statement may still be carried out then
   */
  async function run<Row = unknown>(statement: RawBuilder<Row>): Promise<{ rows: Row[]; changed: number }> {
    const attempt = async () => statement.execute(database.system().getKysely() as Kysely<unknown>);
    const result = await within(
      ANSWER_MS,
      'a statement of the leases',
      withRetries(RETRY_RACES.retries, attempt),
    );
    return { rows: result.rows, changed: Number(result.numAffectedRows ?? 0) };
  }

  const first = (place: LeasePlace) => sql<string>`(select t.id from kernel_lease_tickets t
    where t.lease_key = ${place.key} and t.name = ${place.name} and t.expires_at > ${now()} and t.expires_at <= ${after(2 * PLACE_MS)}
    order by t.position, t.id limit 1)`;

  /**
   * Takes the first free slot below the limit. Where the name has a row already, or an older ticket waits for it,
   * nothing.
   */
  async function takeFree(ticket: LeaseTicket): Promise<boolean> {
    const { key, name, id, note, limit, ttl } = ticket;
    const holder = sql`name = ${name}, ticket = ${id}, note = ${note}, revoked = 0, expires_at = ${after(ttl)}`;
    const free = sql`lease_key = ${key} and slot < ${limit} and (name is null or expires_at <= ${now()})
      and coalesce(${first(ticket)}, ${id}) = ${id}`;
    // Slots that other processes take at this moment are passed over, not waited for.
    const skip = family === 'postgres' ? sql`for update skip locked` : sql``;
    // MySQL does not let an update read its own table; there the unique key of names alone refuses.
    const statement = isMySql
      ? sql`update kernel_leases set ${holder} where ${free} order by slot limit 1`
      : sql`update kernel_leases set ${holder}
          where lease_key = ${key} and slot = (select slot from kernel_leases where ${free}
            and not exists (select 1 from kernel_leases same where same.lease_key = ${key} and same.name = ${name})
            order by slot limit 1 ${skip})`;
    try {
      return (await run(statement)).changed > 0;
    } catch (error) {
      if (isUniqueConflict(error)) return false;
      throw error;
    }
  }

  /** Why there was no slot, or what has to be done for one. */
  async function look(ticket: LeaseTicket) {
    const { key, name, id, limit } = ticket;
    const count = (condition: RawBuilder<unknown>) => sql`sum(case when ${condition} then 1 else 0 end)`;
    type Seen = Record<'slots' | 'taken' | 'held' | 'own' | 'dead' | 'early', unknown> & {
      first: string | null;
    };
    const { rows } = await run(sql<Seen>`
      select count(*) as slots, ${count(sql`slot < ${limit} and ${isLive()}`)} as taken,
        ${count(sql`name = ${name} and ${isLive()}`)} as held,
        ${count(sql`name = ${name} and ticket = ${id} and ${isLive()}`)} as own,
        ${count(sql`name = ${name} and not (${isLive()})`)} as dead,
        ${count(isEarly())} as early,
        ${first(ticket)} as first
      from kernel_leases where lease_key = ${key} and (slot < ${limit} or name = ${name})`);
    const row = rows[0]!;
    return {
      isOwn: Number(row.own) > 0,
      isHeld: Number(row.held) > 0 || (row.first ?? id) !== id,
      isFull: Number(row.taken) >= limit,
      hasDead: Number(row.dead) > 0,
      hasEarly: Number(row.early) > 0,
      lacksSlots: Number(row.slots) < limit,
    };
  }

  /**
   * Makes the next slots under a key, below its limit. It does no harm when some are there already, also those that
   * other processes make at the same time.
   */
  async function addSlots({ key, limit }: LeaseTicket): Promise<void> {
    const { rows } = await run(sql<{ slot: number }>`
      select s.slot + 1 as slot from kernel_leases s where s.lease_key = ${key} and s.slot < ${limit - 1}
        and not exists (select 1 from kernel_leases n where n.lease_key = ${key} and n.slot = s.slot + 1)
      order by s.slot limit 1`);
    // Where none is missing after another one, the first are.
    const first = Number(rows[0]?.slot ?? 0);
    const made = Array.from(
      { length: Math.min(NEW_SLOTS, limit - first) },
      (_, n) => sql`(${key}, ${first + n}, null, '', '', 0, ${now()})`,
    );
    const keep = isMySql
      ? sql`on duplicate key update slot = kernel_leases.slot`
      : sql`on conflict do nothing`;
    await run(sql`insert into kernel_leases (lease_key, slot, name, ticket, note, revoked, expires_at)
      values ${sql.join(made)} ${keep}`);
  }

  async function keepPlace({ key, name, id }: LeaseTicket): Promise<void> {
    waiting.add(id);
    const change = isMySql ? sql`on duplicate key update` : sql`on conflict (id) do update set`;
    await run(sql`insert into kernel_lease_tickets (id, lease_key, name, position, expires_at)
      values (${id}, ${key}, ${name}, ${now()}, ${after(PLACE_MS)}) ${change} expires_at = ${after(PLACE_MS)}`);
  }

  async function leaveLine({ id }: LeaseTicket): Promise<void> {
    if (waiting.delete(id)) await run(sql`delete from kernel_lease_tickets where id = ${id}`);
  }

  async function prolong(ticket: LeaseTicket): Promise<Renewal> {
    const update = sql`update kernel_leases set expires_at = ${after(ticket.ttl)}
      where ${of(ticket)} and ${isLive()}`;
    type Row = { revoked: unknown };
    if (!isMySql) {
      const { rows } = await run(sql<Row>`${update} returning revoked`);
      return rows[0] === undefined ? 'gone' : Number(rows[0].revoked) === 1 ? 'revoked' : 'held';
    }
    if ((await run(update)).changed === 0) return 'gone';
    const { rows } = await run(sql<Row>`select revoked from kernel_leases where ${of(ticket)}`);
    return Number(rows[0]?.revoked) === 1 ? 'revoked' : 'held';
  }

  async function take(ticket: LeaseTicket, inLine: boolean): ReturnType<LeaseStore['take']> {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (await takeFree(ticket)) return 'granted';
      const seen = await look(ticket);
      if (seen.isOwn && (await prolong(ticket)) !== 'gone') return 'granted';
      // A holder that lives renews it meanwhile.
      if (seen.hasEarly)
        await run(sql`update kernel_leases set expires_at = ${after(TTL.most)}
          where lease_key = ${ticket.key} and ${isEarly()}`);
      if (seen.isHeld) return held(ticket, inLine);
      if (seen.isFull) return 'full';
      // A dead holder does not keep its name.
      if (seen.hasDead)
        await run(sql`update kernel_leases set name = null where ${at(ticket)} and not (${isLive()})`);
      if (seen.lacksSlots) await addSlots(ticket);
    }
    // Other processes were faster in every round, so one will be again.
    return inLine ? held(ticket, inLine) : 'full';
  }

  async function held(ticket: LeaseTicket, inLine: boolean): Promise<'held'> {
    if (inLine) await keepPlace(ticket);
    return 'held';
  }

  return {
    isLeased: true,

    async take(ticket, inLine) {
      const outcome = await take(ticket, inLine);
      if (outcome === 'granted') await leaveLine(ticket);
      return outcome;
    },

    renew: prolong,

    async release(ticket) {
      await leaveLine(ticket);
      const update = sql`update kernel_leases
        set name = null, ticket = '', note = '', revoked = 0, expires_at = ${now()} where ${of(ticket)}`;
      type Row = { next: string | null };
      if (!isMySql) {
        const { rows } = await run(sql<Row>`${update} returning ${first(ticket)} as next`);
        return rows.some(({ next }) => next !== null);
      }
      if ((await run(update)).changed === 0) return false;
      return (await run(sql<Row>`select ${first(ticket)} as next`)).rows.some(({ next }) => next !== null);
    },

    async revoke(place) {
      const { rows } = await run(
        sql<{ ticket: string }>`select ticket from kernel_leases where ${at(place)} and ${isLive()}`,
      );
      const id = rows[0]?.ticket;
      if (id === undefined) return undefined;
      const own = sql`${at(place)} and ticket = ${id} and ${isLive()}`;
      if ((await run(sql`update kernel_leases set revoked = 1 where ${own} and revoked = 0`)).changed > 0)
        return id;
      // Not marked: revoked before, or released this moment.
      const marked = await run(sql`select 1 from kernel_leases where ${own} and revoked = 1`);
      return marked.rows.length > 0 ? id : undefined;
    },

    async find(place) {
      const { rows } = await run(
        sql<{ note: string }>`select note from kernel_leases where ${at(place)} and ${isLive()}`,
      );
      return rows[0] && { note: rows[0].note };
    },

    async list(key) {
      const { rows } = await run(
        sql<HeldName>`select name, note from kernel_leases where lease_key = ${key} and ${isLive()}`,
      );
      return rows.map(({ name, note }) => ({ name, note }));
    },
  };
}

/** True when a statement failed because a unique key is taken, as the drivers report it, past MikroORM. */
function isUniqueConflict(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const { code, errno } = cause as { code?: unknown; errno?: unknown };
    if (code === '23505' || errno === 1062) return true;
    if (typeof code === 'string' && code.startsWith('SQLITE_CONSTRAINT')) return true;
  }
  return false;
}
