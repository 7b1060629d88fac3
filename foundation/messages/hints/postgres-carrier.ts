import { type Kysely, sql } from 'kysely';
import type { Clock } from '../../base/clock.ts';
import { endsWithin } from '../../base/deadline.ts';
import { lazy } from '../../base/lazy.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Events } from '../events/events.ts';
import { createWakeUps, wakeUpEvent } from '../wake-ups.ts';
import type { Carrier, Message } from './create-hints.ts';
import { receiveFromPostgres, type TakenMessage } from './postgres-consumer.ts';
import { createRoom, createSending, MAX_WAITING } from './sending.ts';

export interface PostgresCarrierOptions {
  /** Its role may make tables in its schema. */
  readonly database: Pick<Database, 'system'>;
  /** They wake consumers, on the one connection that listens. */
  readonly events: Pick<Events, 'emit' | 'on' | 'onMissed' | 'isConnected'>;
  /** The first part of the table's name. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const MessagesWaiting = wakeUpEvent('kernel.queue-waiting');

/** What the start waits until messages can go. */
const FIRST_CONNECTION_MS = 5_000;
/** An outage is noticed within so much time of its first failure. */
const OUTAGE_BEGINS_MS = 10_000;

/**
 * Carries messages through a table of the gateway's own database. A consumer takes a message out when it begins to work
 * on it, so one whose process dies then does not come again: the sweeper finds the work. Consumers are woken by events.
 */
export async function openPostgresCarrier(options: PostgresCarrierOptions): Promise<Carrier> {
  const { database, events, prefix, clock, log } = options;
  const table = createTable(database, prefix);
  const failed = throttledLog<unknown>(clock, (err, count) =>
    log.warn({ err, count }, 'PostgreSQL failed in carrying messages'),
  );
  // The events log an outage; what fails shortly before they notice it is part of it.
  const trouble = (reason: unknown) => {
    const timer = setTimeout(() => events.isConnected && failed(reason), OUTAGE_BEGINS_MS);
    timer.unref();
  };
  const wakeUps = createWakeUps(events, MessagesWaiting);
  const rooms = new Map<string, ReturnType<typeof createRoom>>();
  function roomOf(queueId: string) {
    const room = rooms.get(queueId) ?? createRoom(clock, () => table.count(queueId));
    rooms.set(queueId, room);
    return room;
  }
  const sending = createSending(trouble);
  await endsWithin(
    FIRST_CONNECTION_MS,
    Promise.all([firstConnection(events), table.ensure().catch(trouble)]),
  );

  return {
    form: 'postgres',

    async send(queueId, message) {
      if (!events.isConnected) return 'away';
      return sending(async () => {
        const room = roomOf(queueId);
        if (!(await room.has())) return 'full';
        await table.add(queueId, message);
        room.sent();
        wakeUps.send(queueId);
        return 'ok';
      });
    },

    receive(queueId, hands) {
      const consumer = receiveFromPostgres(
        {
          take: (count) => table.take(queueId, count),
          nextDue: () => table.nextDue(queueId),
          async putBack(messages) {
            for (const { id, payload } of messages) {
              await table.add(queueId, { id, text: payload, delay: 0 });
            }
            if (messages.length > 0) wakeUps.send(queueId);
          },
          isListening: () => events.isConnected,
          failed: trouble,
        },
        hands,
      );
      const undo = wakeUps.on(queueId, consumer.wake);
      return {
        stop() {
          undo();
          consumer.stop();
        },
        end: () => consumer.end(),
      };
    },

    async close() {
      wakeUps.close();
    },
  };
}

/** Resolves when events reach the other replicas. */
function firstConnection(events: Pick<Events, 'onMissed' | 'isConnected'>): Promise<void> {
  if (events.isConnected) return Promise.resolve();
  return new Promise((resolve) => {
    const undo = events.onMissed(() => {
      undo();
      resolve();
    });
  });
}

/**
 * The table in which messages wait. Its shape never changes under this name: another shape would be another table.
 *
 * The table is unlogged: no write of it waits for the disk, and a crash of the server, or a change to its standby,
 * empties it. All times are the server's.
 */
function createTable(database: Pick<Database, 'system'>, prefix: string) {
  const name = `${prefix.replaceAll('-', '_')}_queue_1`;
  const table = sql.id(name);
  /** Makes the table unless it is there. Any number of replicas may do it at once. */
  const { get: ensure } = lazy(make);

  async function make(): Promise<void> {
    const { rows } = await sql<{ known: boolean }>`select to_regclass(${name}) is not null as known`.execute(
      db(),
    );
    if (rows[0]?.known === true) return;
    // The lock is given back at the end of the transaction, however that comes.
    await db()
      .transaction()
      .execute(async (transaction) => {
        const statements = [
          sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`,
          sql`create unlogged table if not exists ${table} (
          queue text not null,
          id text not null,
          seq bigint generated always as identity,
          due_at timestamptz not null,
          payload text not null,
          primary key (queue, id)
        ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
          sql`create index if not exists ${sql.id(`${name}_due`)} on ${table} (queue, due_at, seq)`,
        ];
        for (const statement of statements) await statement.execute(transaction);
      });
  }

  function db(): Kysely<unknown> {
    return database.system().getKysely() as unknown as Kysely<unknown>;
  }

  return {
    ensure,

    /** Adds a message, unless one of its id waits already. */
    async add(queueId: string, { id, text, delay }: Pick<Message, 'id' | 'text' | 'delay'>): Promise<void> {
      await ensure();
      await sql`insert into ${table} (queue, id, due_at, payload)
      values (${queueId}, ${id}, statement_timestamp() + ${delay} * interval '1 millisecond', ${text})
      on conflict (queue, id) do nothing`.execute(db());
    },

    /** Takes out up to `count` messages that are due, the oldest first. */
    async take(queueId: string, count: number): Promise<readonly TakenMessage[]> {
      await ensure();
      const { rows } = await sql<TakenMessage>`with due as (
        select id from ${table} where queue = ${queueId} and due_at <= statement_timestamp()
        order by due_at, seq limit ${count} for update skip locked),
      taken as (
        delete from ${table} as message using due
        where message.queue = ${queueId} and message.id = due.id
        returning message.id, message.payload, message.due_at, message.seq)
      select id, payload from taken order by due_at, seq`.execute(db());
      return rows;
    },

    /** Milliseconds until the next message is due, below zero where it is already; `undefined` when none waits. */
    async nextDue(queueId: string): Promise<number | undefined> {
      const { rows } = await sql<{ ms: number | null }>`select
      (extract(epoch from min(due_at) - statement_timestamp()) * 1000)::float8 as ms
      from ${table} where queue = ${queueId}`.execute(db());
      return rows[0]?.ms ?? undefined;
    },

    /** Messages of the queue that wait, as far as the bound needs to know. */
    async count(queueId: string): Promise<number> {
      await ensure();
      const { rows } = await sql<{ waiting: number }>`select count(*)::int as waiting
      from (select from ${table} where queue = ${queueId} limit ${MAX_WAITING}) as message`.execute(db());
      return rows[0]?.waiting ?? 0;
    },
  };
}
