import { type Redis, redisScript } from '../../redis/redis.ts';
import type { Connection, ConnectionEvents, Transport } from './transport.ts';

/** Asks the server whether it is there. */
const QUESTION = redisScript('return 1');

/**
 * Redis pub/sub on the connection that the process shares. The sockets reconnect automatically, but a connection of
 * events is over when one of them breaks, so that the next one knows what may have been missed.
 */
export function redisTransport(redis: Redis, channel: string): Transport {
  return {
    reach: 'redis',
    title: 'Redis',
    isReportedAway: () => !redis.isUp(),
    connect: (events) => connect(redis, channel, events),
  };
}

function connect(redis: Redis, channel: string, events: ConnectionEvents): Connection {
  const endings: (() => void)[] = [];
  let failOpening: (reason: unknown) => void = () => undefined;

  function lost(reason: unknown): void {
    failOpening(reason);
    events.lost(reason);
  }

  async function ping(): Promise<void> {
    await redis.run(QUESTION, [], []);
  }

  return {
    open: () =>
      new Promise((resolve, reject) => {
        if (!redis.isUp()) throw new Error('Redis is away');
        failOpening = reject;
        endings.push(
          redis.onChange((isUp) => {
            if (!isUp) lost(new Error('Redis is away'));
          }),
          redis.subscribe(channel, {
            message: (text) => events.message(text),
            subscribed: resolve,
            lost(reason) {
              // In an outage this socket may be the first to break. The answer shows whether Redis is away, which is
              // logged once.
              const report = () => lost(reason);
              ping().then(report, report);
            },
          }),
        );
      }),

    send: (messages) => redis.publish(channel, messages),

    // The socket that listens is asked by its owner.
    ping,

    destroy() {
      for (const end of endings) end();
      lost(new Error('The connection was given up'));
    },
  };
}
