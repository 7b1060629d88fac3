import type { Message } from './message.ts';
import { MAX_WAITING } from './sending.ts';

/** What runs statements: a connection of `pg`, or a pool of them. */
export interface Statements {
  query<R>(text: string, values?: unknown[]): Promise<{ readonly rows: R[] }>;
}

/** A message that was taken out of the table. */
export interface TakenMessage {
  readonly id: string;
  readonly payload: string;
}

/**
 * The table in which messages wait, and the channel on which consumers are told of them. Both have one name. Its shape never
 * changes under this name: another shape would be another table.
 *
 * The table is unlogged: no write of it waits for the disk, and a crash of the server, or a change to its standby, empties
 * it. All times are the server's.
 */
export class PostgresTable {
  readonly name: string;

  /** @param prefix of the deployment, checked by `openQueue` */
  constructor(prefix: string) {
    this.name = `${prefix.replaceAll('-', '_')}_queue_1`;
  }

  /** Makes the table unless it is there. Any number of replicas may do it at once. `on` is one connection. */
  async ensure(on: Statements): Promise<void> {
    const { name } = this;
    const { rows } = await on.query<{ known: boolean }>('select to_regclass($1) is not null as known', [
      name,
    ]);
    if (rows[0]?.known === true) return;
    // One message, so one transaction; the lock is given back at its end, however that comes.
    await on.query(`
      select pg_advisory_xact_lock(hashtextextended('${name}', 0));
      create unlogged table if not exists ${name} (
        queue text not null,
        id text not null,
        seq bigint generated always as identity,
        due_at timestamptz not null,
        payload text not null,
        primary key (queue, id)
      ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
      create index if not exists ${name}_due on ${name} (queue, due_at, seq);`);
  }

  /** Adds a message, unless one of its id waits already, and tells the consumers. */
  async add(on: Statements, queueId: string, { id, text, delay }: Pick<Message, 'id' | 'text' | 'delay'>) {
    await on.query(
      `with added as (
         insert into ${this.name} (queue, id, due_at, payload)
         values ($1, $2, statement_timestamp() + $3 * interval '1 millisecond', $4)
         on conflict (queue, id) do nothing returning queue)
       select pg_notify('${this.name}', queue) from added`,
      [queueId, id, delay, text],
    );
  }

  /** Takes out up to `count` messages that are due, the oldest first. */
  async take(on: Statements, queueId: string, count: number): Promise<readonly TakenMessage[]> {
    const { rows } = await on.query<TakenMessage>(
      `with due as (
         select id from ${this.name} where queue = $1 and due_at <= statement_timestamp()
         order by due_at, seq limit $2 for update skip locked),
       taken as (
         delete from ${this.name} as message using due
         where message.queue = $1 and message.id = due.id
         returning message.id, message.payload, message.due_at, message.seq)
       select id, payload from taken order by due_at, seq`,
      [queueId, count],
    );
    return rows;
  }

  /** Milliseconds until the next message is due, below zero where it is already; `undefined` when none waits. */
  async nextDue(on: Statements, queueId: string): Promise<number | undefined> {
    const { rows } = await on.query<{ ms: number | null }>(
      `select (extract(epoch from min(due_at) - statement_timestamp()) * 1000)::float8 as ms
       from ${this.name} where queue = $1`,
      [queueId],
    );
    return rows[0]?.ms ?? undefined;
  }

  /** Messages of the queue that wait, as far as the bound needs to know. */
  async count(on: Statements, queueId: string): Promise<number> {
    const { rows } = await on.query<{ waiting: number }>(
      `select count(*)::int as waiting from (select from ${this.name} where queue = $1 limit $2) as message`,
      [queueId, MAX_WAITING],
    );
    return rows[0]?.waiting ?? 0;
  }
}
