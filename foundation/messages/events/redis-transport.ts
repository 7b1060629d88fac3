import { Redis, type RedisOptions, ReplyError } from 'ioredis';
import { type Connection, type ConnectionEvents, NOTHING_REFUSED, type Transport } from './transport.ts';

/** What the transport needs. */
export interface RedisTransportOptions {
  /** `redis://…` or `rediss://…`; holds a password. Channels belong to the server: its database number does not matter. */
  readonly url: string;
  readonly channel: string;
  /** Milliseconds that the server may take to accept a connection. */
  readonly connectDeadline: number;
}

/** Redis pub/sub: one connection that listens and one that publishes, which stand and fall together. */
export function redisTransport({ url, channel, connectDeadline }: RedisTransportOptions): Transport {
  const options: RedisOptions = {
    lazyConnect: true,
    connectTimeout: connectDeadline,
    connectionName: 'agent-gateway-events',
    // A connection is used once. Who owns it makes the next one, and knows then what may have been missed.
    retryStrategy: null,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
  };
  return {
    reach: 'redis',
    title: 'Redis',
    connect: (events) => connect(new Redis(url, options), new Redis(url, options), channel, events),
  };
}

function connect(subscriber: Redis, publisher: Redis, channel: string, events: ConnectionEvents): Connection {
  for (const client of [subscriber, publisher]) {
    let reason: unknown;
    client.on('error', (error: unknown) => {
      reason = error;
    });
    client.on('end', () => events.lost(reason ?? new Error('Redis closed the connection')));
  }
  subscriber.on('message', (_channel: string, text: string) => events.message(text));

  return {
    async open() {
      await Promise.all([subscriber.connect(), publisher.connect()]);
      await subscriber.subscribe(channel);
    },

    async send(messages) {
      const pipeline = publisher.pipeline();
      for (const message of messages) pipeline.publish(channel, message);
      const errors = ((await pipeline.exec()) ?? []).flatMap(([error]) => (error === null ? [] : [error]));
      // An error that is no reply of Redis is the connection's.
      const broken = errors.find((error) => !(error instanceof ReplyError));
      if (broken !== undefined) throw broken;
      return errors.length === 0 ? NOTHING_REFUSED : { count: errors.length, reason: errors[0] };
    },

    async ping() {
      await Promise.all([subscriber.ping(), publisher.ping()]);
    },

    destroy() {
      subscriber.disconnect();
      publisher.disconnect();
    },
  };
}
