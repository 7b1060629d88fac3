import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { endsWithin } from './ends-within.ts';

/** A connection that hears what is told on one channel, made anew whenever it is lost. */
export interface PostgresListener {
  /** False while notifications may be missed. */
  readonly isListening: boolean;
  /** Ends within a second. */
  close(): Promise<void>;
}

export interface PostgresListenerOptions {
  /** Makes a client that is not connected yet; its queries have a deadline. */
  readonly client: () => Client;
  /** A safe identifier. */
  readonly channel: string;
  /** Called on each new connection before it listens. */
  readonly prepare: (client: Client) => Promise<void>;
  /** It listens; what was told before may have been missed. */
  readonly onListening: () => void;
  readonly onNotified: (payload: string) => void;
  /** It does not listen any more, or could not begin to. */
  readonly onLost: (reason: unknown) => void;
}

/** How often a silent connection is asked whether it still is one. */
const HEARTBEAT_MS = 10_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
const CLOSE_MS = 1_000;

export function listenToPostgres(options: PostgresListenerOptions): PostgresListener {
  const closing = new AbortController();
  let isListening = false;
  let failures = 0;

  async function listen(): Promise<void> {
    const client = options.client();
    const lost = Promise.withResolvers<unknown>();
    client.on('error', lost.resolve);
    client.on('end', () => lost.resolve(new Error('The connection ended')));
    client.on('notification', ({ payload }) => options.onNotified(payload ?? ''));
    const stop = () => lost.resolve(undefined);
    closing.signal.addEventListener('abort', stop, { once: true });
    const heartbeat = setInterval(() => {
      if (isListening) client.query('select 1').catch(lost.resolve);
    }, HEARTBEAT_MS);
    try {
      await client.connect();
      await options.prepare(client);
      await client.query(`listen ${options.channel}`);
      isListening = true;
      failures = 0;
      if (!closing.signal.aborted) options.onListening();
      const reason = await lost.promise;
      if (reason !== undefined) throw reason;
    } finally {
      isListening = false;
      clearInterval(heartbeat);
      closing.signal.removeEventListener('abort', stop);
      await leave(client);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await listen();
      } catch (error) {
        if (closing.signal.aborted) return;
        failures += 1;
        options.onLost(error);
        const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10), LAST_RETRY_MS);
        await pause(wait, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  }
  const running = run();

  return {
    get isListening() {
      return isListening;
    },
    async close() {
      closing.abort();
      await endsWithin(CLOSE_MS, running);
    },
  };
}

/** Says goodbye; a server that does not answer is left without. */
async function leave(client: Client): Promise<void> {
  if (await endsWithin(CLOSE_MS / 2, client.end())) return;
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}
