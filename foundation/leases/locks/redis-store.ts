import type { Redis } from 'ioredis';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import { type LockRedis, openLockRedis } from './lock-redis.ts';
import { type Grant, type LockStore, PLACE_MS, REMEMBERED_MS } from './lock-store.ts';
import { createRedisWakeups } from './redis-wakeups.ts';

/** Locks in Redis, with what has to be known about the data that they are in. */
export interface RedisStore extends LockStore, Pick<LockRedis, 'dataset' | 'onChange' | 'known'> {
  take(request: Parameters<LockStore['take']>[0]): Promise<RedisGrant | undefined>;
}

export interface RedisGrant extends Grant {
  /** The data in which the lock is held. */
  readonly dataset: string;
}

/** What the store needs. */
export interface RedisStoreOptions {
  /** Says where Redis is; the store opens connections of its own. */
  readonly redis: Redis;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Start of all keys; default `svc:lock`. */
  readonly prefix?: string;
}

/**
 * Locks in one Redis. It promises exclusion as long as its data is kept; a restart, a failover to a replica or an emptied
 * database may lose locks that are held, which `dataset` shows. The keys need a Redis that evicts nothing.
 */
export function createRedisStore({ redis, ids, log, prefix = 'svc:lock' }: RedisStoreOptions): RedisStore {
  const connection = openLockRedis({ redis, ids, log, prefix });
  const channel = `{${prefix}}:free`;
  const listeners: ((key: string) => void)[] = [];
  const wakeups = createRedisWakeups(redis, channel, (key) => {
    for (const listener of listeners) listener(key);
  });

  return {
    dataset: connection.dataset,
    onChange: connection.onChange,
    known: connection.known,

    async take({ key, ticket, lease, line, above }) {
      const dataset = connection.dataset();
      const place = line === 'wait' ? PLACE_MS : 0;
      const jump = line === 'jump' ? '1' : '0';
      const [isGranted, fence] = await connection.run('lockTake', key, [
        ticket,
        lease,
        REMEMBERED_MS,
        above,
        place,
        jump,
      ]);
      if (isGranted === 1) return { fence: Number(fence), dataset: dataset! };
      if (line === 'wait') wakeups.start();
      return undefined;
    },

    async renew({ key, ticket, lease, fence }) {
      const [isHeld] = await connection.run('lockRenew', key, [ticket, lease, REMEMBERED_MS, fence]);
      return isHeld === 1;
    },

    async release({ key, ticket, fence }) {
      await connection.run('lockRelease', key, [ticket, fence, channel, key]);
    },

    onFree: (listener) => void listeners.push(listener),

    async close() {
      wakeups.close();
      connection.close();
    },
  };
}
