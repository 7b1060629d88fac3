import { type RawBuilder, sql } from 'kysely';
import type { LockHints } from './lock-hints.ts';
import type { LockSql } from './lock-sql.ts';
import { type LockStore, PLACE_MS, type TakeRequest } from './lock-store.ts';

const STANDARD = {
  from: sql``,
  keepLock: sql`on conflict (name) do nothing`,
  changeTicket: sql`on conflict (id) do update set`,
};
const MYSQL: typeof STANDARD = {
  from: sql`from dual`,
  keepLock: sql`on duplicate key update kernel_locks.name = kernel_locks.name`,
  changeTicket: sql`on duplicate key update`,
};

/**
 * Locks in tables of the database (lock-tables.ts). Each operation is a few short statements; the one that grants is a
 * single `update` (or `insert`) with its condition, so that of several processes one succeeds. Waiters ask again and
 * again; with `hints` the next one is told.
 */
export function createDatabaseStore(db: LockSql, hints?: LockHints): LockStore {
  const { now, greatest } = db;
  const words = db.family === 'mysql' ? MYSQL : STANDARD;
  const after = (milliseconds: number) => sql<number>`${now()} + ${milliseconds * 1_000}`;

  /** True where the ticket may go before everybody in line. */
  function isNext({ key, ticket, line }: TakeRequest): RawBuilder<unknown> {
    if (line === 'jump') return sql`1 = 1`;
    return sql`coalesce((select t.id from kernel_lock_tickets t where t.name = ${key} and t.expires_at > ${now()}
      order by t.position, t.id limit 1), ${ticket}) = ${ticket}`;
  }

  async function takeExisting(request: TakeRequest): Promise<number | undefined> {
    const { key, ticket, lease, above } = request;
    const fence = greatest(sql`fence + 1`, now(), sql`${above + 1}`);
    const update = sql<{ fence: unknown }>`update kernel_locks
      set holder = ${ticket}, fence = ${fence}, expires_at = ${after(lease)}
      where name = ${key} and (holder = ${ticket} or (expires_at <= ${now()} and ${isNext(request)}))`;
    if (db.family !== 'mysql') {
      const { rows } = await db.run(sql<{ fence: unknown }>`${update} returning fence`);
      return rows[0] === undefined ? undefined : Number(rows[0].fence);
    }
    const { changed } = await db.run(update);
    return changed === 0 ? undefined : fenceOf(request);
  }

  async function takeNew(request: TakeRequest): Promise<number | undefined> {
    const { key, ticket, lease, above } = request;
    const fence = greatest(now(), sql`${above + 1}`);
    const { changed } = await db.run(sql`insert into kernel_locks (name, holder, fence, expires_at)
      select ${key}, ${ticket}, ${fence}, ${after(lease)} ${words.from}
      where ${isNext(request)} and not exists (select 1 from kernel_locks l where l.name = ${key})
      ${words.keepLock}`);
    // MySQL counts a row that stayed as it was; whose row it is says the row.
    return changed === 0 ? undefined : fenceOf(request);
  }

  async function fenceOf({ key, ticket }: TakeRequest): Promise<number | undefined> {
    const { rows } = await db.run(
      sql<{ fence: unknown }>`select fence from kernel_locks where name = ${key} and holder = ${ticket}`,
    );
    return rows[0] === undefined ? undefined : Number(rows[0].fence);
  }

  async function keepPlace({ key, ticket }: TakeRequest): Promise<void> {
    const until = after(PLACE_MS);
    await db.run(sql`insert into kernel_lock_tickets (id, name, position, expires_at)
      values (${ticket}, ${key}, ${now()}, ${until})
      ${words.changeTicket} expires_at = ${until}`);
  }

  const leaveLine = (ticket: string) => db.run(sql`delete from kernel_lock_tickets where id = ${ticket}`);

  /** Tells the others when somebody waits for a lock that is free. */
  async function hint(key: string): Promise<void> {
    if (hints === undefined) return;
    const { rows } = await db.run(
      sql`select id from kernel_lock_tickets where name = ${key} and expires_at > ${now()} limit 1`,
    );
    if (rows.length > 0) hints.notify(key);
  }

  const waiting = new Set<string>();
  let unsubscribe = () => {};

  return {
    async take(request) {
      const { ticket, line } = request;
      const fence = (await takeExisting(request)) ?? (await takeNew(request));
      if (fence === undefined) {
        if (line !== 'wait') return undefined;
        waiting.add(ticket);
        await keepPlace(request);
        return undefined;
      }
      if (waiting.delete(ticket)) await leaveLine(ticket);
      return { fence };
    },

    async renew({ key, ticket, lease, fence }) {
      const { changed } = await db.run(sql`update kernel_locks
        set expires_at = ${after(lease)}, fence = ${greatest(sql`fence`, sql`${fence}`)}
        where name = ${key} and holder = ${ticket} and expires_at > ${now()}`);
      return changed > 0;
    },

    async release({ key, ticket, fence }) {
      if (waiting.delete(ticket)) await leaveLine(ticket);
      await db.run(sql`update kernel_locks
        set holder = '', expires_at = ${now()}, fence = ${greatest(sql`fence`, sql`${fence}`)}
        where name = ${key} and holder = ${ticket}`);
      await hint(key);
    },

    onFree(listener) {
      if (hints !== undefined) unsubscribe = hints.subscribe(listener);
    },

    async close() {
      unsubscribe();
    },
  };
}
