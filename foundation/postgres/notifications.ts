import type { Client } from 'pg';
import type { ConnectionEvents, Refusal } from '../messages/events/transport.ts';

/** What the connection needs. */
export interface NotificationOptions {
  /**
   * `DATABASE_URL`, read by pg as the database's own connections read it (`sslmode` and the like); holds a password.
   */
  readonly url: string;
  /** 63 bytes at most, PostgreSQL's bound of a name. */
  readonly channel: string;
  /** Milliseconds that the server may take to accept a connection. */
  readonly connectDeadline: number;
  /** Milliseconds after which the server gives up a statement. */
  readonly statementDeadline: number;
}

/**
 * PostgreSQL's LISTEN and NOTIFY on the one connection that a process has in addition to the pool of its database:
 * events, and through them all that waits for a wake-up. A pooler between must keep sessions together. The client
 * library is loaded when it connects. Its form is that of a transport of events (`messages/events/transport.ts`).
 */
export function notificationConnection(options: NotificationOptions, events: ConnectionEvents) {
  const { channel } = options;
  let client: Client | undefined;
  let isDestroyed = false;

  /** One statement for all, sent in the order of the list. */
  async function notify(messages: readonly string[]): Promise<void> {
    await client?.query({
      text: 'select pg_notify($1, message) from unnest($2::text[]) as message',
      values: [channel, messages],
    });
  }

  return {
    async open() {
      const { default: pg } = await import('pg');
      if (isDestroyed) throw new Error('The connection was given up');
      client = new pg.Client({
        connectionString: options.url,
        application_name: 'agent-gateway events',
        keepAlive: true,
        connectionTimeoutMillis: options.connectDeadline,
        statement_timeout: options.statementDeadline,
      });
      client.on('error', (error) => events.lost(error));
      client.on('end', () => events.lost(new Error('PostgreSQL closed the connection')));
      client.on('notification', ({ payload }) => {
        if (payload !== undefined) events.message(payload);
      });
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    },

    async send(messages: readonly string[]): Promise<Refusal> {
      try {
        await notify(messages);
        return { count: 0 };
      } catch (reason) {
        if (!isAboutContent(reason)) throw reason;
        if (messages.length === 1) return { count: 1, reason };
      }
      // One message that cannot be written in the database's encoding must not take the others with it.
      let refused: Refusal = { count: 0 };
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
      await client?.query('select 1');
    },

    destroy() {
      isDestroyed = true;
      client?.connection.stream.destroy();
    },
  };
}

/** SQLSTATE class 22: the data of the statement is at fault, and nothing else. */
function isAboutContent(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('22');
}
