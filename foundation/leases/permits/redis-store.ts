import type { Redis } from 'ioredis';
import { openPermitRedis } from './permit-redis.ts';
import type { PermitStore, Renewal, TicketPlace } from './permit-store.ts';
import type { PermitRefusal } from './permits.ts';

/** Characters before the note in what Redis keeps of a holder: his ticket, and whether he is asked to end. */
const BEFORE_NOTE = 37;

/**
 * Places in one Redis. What it forgets (a restart, a failover to a replica, an emptied database) its holders take again with their next
 * renewal; until then, a third of a lease, others may get a place too many. The keys need a Redis that evicts nothing.
 *
 * @param redis says where Redis is; the store opens a connection of its own
 * @param prefix start of all keys: deployments that share a Redis need one each
 */
export async function createRedisStore(redis: Redis, prefix: string): Promise<PermitStore> {
  const connection = await openPermitRedis(redis, prefix);
  const all = ({ name, ticket, note, limit, lease }: TicketPlace) => [name, ticket, note, limit, lease];
  return {
    isLeased: true,
    take: async (place) =>
      (await connection.run('permitTake', place.key, all(place))) as 'granted' | PermitRefusal,
    renew: async (place) => (await connection.run('permitRenew', place.key, all(place))) as Renewal,
    async release({ key, name, ticket }) {
      await connection.run('permitRelease', key, [name, ticket]);
    },
    revoke: async ({ key, name }) => (await connection.run('permitRevoke', key, [name])) || undefined,
    async find({ key, name }) {
      const holder = await connection.run('permitFind', key, [name]);
      return holder === '' ? undefined : { note: holder.slice(BEFORE_NOTE) };
    },
    close: async () => connection.close(),
  };
}
