import { Client, DatabaseError, escapeIdentifier } from 'pg';
import { type Connection, type ConnectionEvents, NOTHING_REFUSED, type Transport } from './transport.ts';

/** What the transport needs. */
export interface PostgresTransportOptions {
  /** `DATABASE_URL`, read by pg as the database's own connections read it (`sslmode` and the like); holds a password. */
  readonly url: string;
  /** 63 bytes at most, PostgreSQL's bound of a name. */
  readonly channel: string;
  /** Milliseconds that the server may take to accept a connection. */
  readonly connectDeadline: number;
  /** Milliseconds after which the server gives up a statement. */
  readonly statementDeadline: number;
}

/** PostgreSQL's LISTEN and NOTIFY on one connection of its own. A pooler between must keep sessions together. */
export function postgresTransport(options: PostgresTransportOptions): Transport {
  return {
    reach: 'postgres',
    title: 'PostgreSQL',
    connect(events) {
      const client = new Client({
        connectionString: options.url,
        application_name: 'agent-gateway events',
        keepAlive: true,
        connectionTimeoutMillis: options.connectDeadline,
        statement_timeout: options.statementDeadline,
      });
      return connect(client, options.channel, events);
    },
  };
}

function connect(client: Client, channel: string, events: ConnectionEvents): Connection {
  client.on('error', (error) => events.lost(error));
  client.on('end', () => events.lost(new Error('PostgreSQL closed the connection')));
  client.on('notification', ({ payload }) => {
    if (payload !== undefined) events.message(payload);
  });

  /** One statement for all, sent in the order of the list. */
  async function notify(messages: readonly string[]): Promise<void> {
    await client.query({
      text: 'select pg_notify($1, message) from unnest($2::text[]) as message',
      values: [channel, messages],
    });
  }

  return {
    async open() {
      await client.connect();
      await client.query(`listen ${escapeIdentifier(channel)}`);
    },

    async send(messages) {
      try {
        await notify(messages);
        return NOTHING_REFUSED;
      } catch (reason) {
        if (!isAboutContent(reason)) throw reason;
        if (messages.length === 1) return { count: 1, reason };
      }
      // One message that cannot be written in the database's encoding must not take the others with it.
      let refused = NOTHING_REFUSED;
      for (const message of messages) {
        try {
          await notify([message]);
        } catch (reason) {
          if (!isAboutContent(reason)) throw reason;
          refused = { count: refused.count + 1, reason };
        }
      }
      return refused;
    },

    async ping() {
      await client.query('select 1');
    },

    destroy() {
      client.connection.stream.destroy();
    },
  };
}

/** SQLSTATE class 22: the data of the statement is at fault, and nothing else. */
function isAboutContent(error: unknown): boolean {
  return error instanceof DatabaseError && error.code?.startsWith('22') === true;
}
