import type { Redis as Client } from 'ioredis';
import type { RedisSubscriber } from './redis.ts';

/** Milliseconds between two questions whether the server is still there: channels may be silent for long. */
const PING_MS = 5_000;

/** The channels that this process hears, over one socket that is opened for the first of them. */
export class Subscriptions {
  readonly #connect: () => Client;
  readonly #refused: (reason: unknown) => void;
  readonly #subscribers = new Map<string, { readonly subscriber: RedisSubscriber; isHeard: boolean }>();
  #client: Client | undefined;
  #pings: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * @param connect opens a socket that reconnects by itself and subscribes to nothing by itself
   * @param refused hears why the server did not subscribe
   */
  constructor(connect: () => Client, refused: (reason: unknown) => void) {
    this.#connect = connect;
    this.#refused = refused;
  }

  add(channel: string, subscriber: RedisSubscriber): () => void {
    if (this.#subscribers.has(channel)) throw new Error(`the channel ${channel} has a subscriber already`);
    this.#subscribers.set(channel, { subscriber, isHeard: false });
    if (this.#isClosed) return () => undefined;
    this.#client ??= this.#open();
    if (this.#client.status === 'ready') this.#subscribe(this.#client, channel);
    return () => {
      if (this.#subscribers.get(channel)?.subscriber !== subscriber) return;
      this.#subscribers.delete(channel);
      if (this.#client?.status === 'ready') this.#client.unsubscribe(channel).catch(() => undefined);
    };
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pings);
    this.#client?.disconnect();
  }

  #open(): Client {
    const client = this.#connect();
    let lastError: unknown;
    client.on('error', (error: unknown) => {
      lastError = error;
    });
    client.on('close', () => this.#lost(lastError ?? new Error('Redis closed the connection')));
    client.on('ready', () => {
      lastError = undefined;
      for (const channel of this.#subscribers.keys()) this.#subscribe(client, channel);
    });
    client.on('message', (channel: string, text: string) => {
      this.#subscribers.get(channel)?.subscriber.message(text);
    });
    this.#pings = setInterval(() => {
      // A server that does not answer loses the connection; a channel that it refused may be allowed by now.
      if (client.status !== 'ready') return;
      client.ping().catch(() => undefined);
      for (const [channel, { isHeard }] of this.#subscribers) if (!isHeard) this.#subscribe(client, channel);
    }, PING_MS);
    this.#pings.unref();
    return client;
  }

  #subscribe(client: Client, channel: string): void {
    const entry = this.#subscribers.get(channel);
    client.subscribe(channel).then(
      () => {
        // Meanwhile the channel may have got another subscriber, for which it is subscribed anew.
        if (entry === undefined || entry !== this.#subscribers.get(channel)) return;
        if (entry.isHeard || client.status !== 'ready') return;
        entry.isHeard = true;
        entry.subscriber.subscribed?.();
      },
      (reason: unknown) => {
        if (client.status === 'ready' && !this.#isClosed) this.#refused(reason);
      },
    );
  }

  #lost(reason: unknown): void {
    for (const entry of this.#subscribers.values()) {
      if (!entry.isHeard) continue;
      entry.isHeard = false;
      if (!this.#isClosed) entry.subscriber.lost?.(reason);
    }
  }
}
