import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Carrier } from './carrier.ts';
import { endsWithin } from './ends-within.ts';
import type { Message } from './message.ts';
import { listenToPostgres } from './postgres-listener.ts';
import { receiveFromPostgres, type WakeableReception } from './postgres-reception.ts';
import { PostgresTable } from './postgres-table.ts';
import type { PublishResult } from './queue.ts';
import { createOutage, createSending, Room } from './sending.ts';

export interface PostgresCarrierOptions {
  /** The database; its role may make tables in its schema. */
  readonly url: string;
  /** The first part of the table's name. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Connections of a replica for statements; one more listens. */
const MAX_CONNECTIONS = 4;
const CONNECT_DEADLINE_MS = 2_000;
const STATEMENT_DEADLINE_MS = 5_000;
/** Milliseconds beyond the server's own limit after which a silent server's connection is given up. */
const ANSWER_GRACE_MS = 1_000;
const IDLE_CONNECTION_MS = 30_000;
/** What the start waits until messages can go. */
const FIRST_CONNECTION_MS = 5_000;
const CLOSE_MS = 2_000;

/**
 * Carries messages through a table of the gateway's own database. A consumer takes a message out when it begins to work on it,
 * so one whose process dies then does not come again: the sweeper finds the work.
 *
 * The client library is loaded here, so that a gateway without PostgreSQL does not load it.
 */
export async function openPostgresCarrier(options: PostgresCarrierOptions): Promise<Carrier> {
  const { url, prefix, clock, log } = options;
  const { default: pg } = await import('pg');
  const table = new PostgresTable(prefix);
  const outage = createOutage('PostgreSQL', clock, log);
  const settings = {
    connectionString: url,
    application_name: 'agent-gateway queue',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_DEADLINE_MS,
    statement_timeout: STATEMENT_DEADLINE_MS,
    query_timeout: STATEMENT_DEADLINE_MS + ANSWER_GRACE_MS,
  };
  const pool = new pg.Pool({ ...settings, max: MAX_CONNECTIONS, idleTimeoutMillis: IDLE_CONNECTION_MS });
  // Connections that break while idle; the listener tells of an outage.
  pool.on('error', () => undefined);

  const receptions = new Map<string, Set<WakeableReception>>();
  const wake = (queueId: string) => {
    for (const reception of receptions.get(queueId) ?? []) reception.wake();
  };
  const firstTime = Promise.withResolvers<void>();
  const listener = listenToPostgres({
    client: () => new pg.Client(settings),
    channel: table.name,
    prepare: (client) => table.ensure(client),
    onListening() {
      outage.ended();
      firstTime.resolve();
      for (const queueId of receptions.keys()) wake(queueId);
    },
    onNotified: wake,
    onLost: (reason) => outage.began(reason),
  });
  await endsWithin(FIRST_CONNECTION_MS, firstTime.promise);

  const rooms = new Map<string, Room>();
  function roomOf(queueId: string): Room {
    const room = rooms.get(queueId) ?? new Room(clock, () => table.count(pool, queueId));
    rooms.set(queueId, room);
    return room;
  }

  async function add(queueId: string, message: Message): Promise<PublishResult> {
    const room = roomOf(queueId);
    if (!(await room.has())) return 'full';
    await table.add(pool, queueId, message);
    room.sent();
    return 'ok';
  }

  const sending = createSending(outage);
  return {
    form: 'postgres',
    delivers: true,

    async send(queueId, message) {
      // Without the listener the server is away, as far as anybody can tell at once.
      if (outage.isOn) return 'away';
      return sending(() => add(queueId, message));
    },

    receive(queueId, hands) {
      const ofQueue = receptions.get(queueId) ?? new Set();
      receptions.set(queueId, ofQueue);
      const reception = receiveFromPostgres(
        {
          take: (count) => table.take(pool, queueId, count),
          nextDue: () => table.nextDue(pool, queueId),
          async putBack(messages) {
            for (const { id, payload } of messages)
              await table.add(pool, queueId, { id, text: payload, delay: 0 });
          },
          isListening: () => listener.isListening,
          failed: (reason) => outage.trouble(reason),
        },
        hands,
      );
      ofQueue.add(reception);
      return {
        stop() {
          ofQueue.delete(reception);
          reception.stop();
        },
        end: () => reception.end(),
      };
    },

    async close() {
      await listener.close();
      await endsWithin(CLOSE_MS, pool.end());
    },
  };
}
