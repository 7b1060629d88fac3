import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import pino from 'pino';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { type Database, type Family, openDatabase } from '../../../../foundation/data/database.ts';
import type { Claims } from '../../../../foundation/leases/locks/claim.ts';
import { createLocks } from '../../../../foundation/leases/locks/claimed-locks.ts';
import { createDatabaseStore } from '../../../../foundation/leases/locks/database-store.ts';
import { createLockSql } from '../../../../foundation/leases/locks/lock-sql.ts';
import { lockRegistration } from '../../../../foundation/leases/locks/lock-tables.ts';
import type { OpenLocks } from '../../../../foundation/leases/locks/locks.ts';
import { createMemoryClaims } from '../../../../foundation/leases/locks/memory-claims.ts';
import { openDelegatedClaims } from '../../../../foundation/leases/locks/open-delegated-claims.ts';
import type { DelegationTimes } from '../../../../foundation/leases/locks/reading.ts';
import { createRedisStore } from '../../../../foundation/leases/locks/redis-store.ts';
import { createStoreClaims } from '../../../../foundation/leases/locks/store-claims.ts';
import { freshDatabase } from '../../../support/databases.ts';
import { available } from '../../../support/services.ts';

export const clock = systemClock;
export const ids = createIds(clock);
export const silent = pino({ level: 'silent' });

/** A store that several replicas share, for one test. */
export interface SharedStore {
  /** A replica of its own, closed with the test. */
  replica(): Promise<Replica>;
  /** How many wait for the key in the store. */
  tickets(key: string): Promise<number>;
}

/** The locks of one process, which can be killed. */
export interface Replica {
  readonly locks: OpenLocks;
  /** From now on it renews nothing, gives nothing back and asks no more, as a process that died. */
  kill(): void;
}

/** One form of the locks. */
export interface Form {
  readonly name: string;
  /** False where the store is the process itself. */
  readonly isShared: boolean;
  /** Makes the store of a test, or `undefined` where a server is missing. */
  open(t: ExecutionContext): Promise<SharedStore | undefined>;
}

const memory: Form = {
  name: 'memory',
  isShared: false,
  async open(t) {
    const only = replicaOf(t, createMemoryClaims(clock));
    return { replica: async () => only, tickets: async () => 0 };
  },
};

const database = (family: Family): Form => ({
  name: `database (${family})`,
  isShared: true,
  async open(t) {
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return undefined;
    const { database, tickets } = opened;
    await database.register(lockRegistration);
    return {
      replica: async () => {
        const store = createDatabaseStore(createLockSql(database, clock));
        return replicaOf(t, createStoreClaims({ store, clock, ids }));
      },
      tickets,
    };
  },
});

const redis: Form = {
  name: 'redis',
  isShared: true,
  async open(t) {
    if (!(await available(t, 'redis'))) return undefined;
    const { client, prefix, tickets } = openTestRedis(t);
    return {
      replica: async () => {
        const store = createRedisStore({ redis: client, ids, log: silent, prefix });
        await store.known;
        return replicaOf(t, createStoreClaims({ store, clock, ids }));
      },
      tickets,
    };
  },
};

const delegated = (name: string, family: Family, hasRedis: boolean, isAlone = false): Form => ({
  name,
  isShared: true,
  async open(t) {
    if (hasRedis && !(await available(t, 'redis'))) return undefined;
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return undefined;
    const there = hasRedis ? openTestRedis(t) : undefined;
    const { database } = opened;
    if (isAlone) {
      await database.register(lockRegistration);
      const store = createRedisStore({ redis: there!.client, ids, log: silent, prefix: there!.prefix });
      await store.known;
      await opened.fresh.ask(`update kernel_lock_delegation set dataset = '${store.dataset()}'`);
      await store.close();
    }
    return {
      replica: async () => {
        const parts = { redis: there?.client, prefix: there?.prefix, database, clock, ids, log: silent };
        return replicaOf(t, await openDelegatedClaims(parts));
      },
      tickets: async (key) => (await opened.tickets(key)) + ((await there?.tickets(key)) ?? 0),
    };
  },
});

/** Every form that the gateway can have, and the two stores of the last by themselves. */
export const FORMS: readonly Form[] = [
  memory,
  database('sqlite'),
  database('postgres'),
  database('mysql'),
  redis,
  delegated('delegation without Redis', 'postgres', false),
  delegated('delegation to Redis, suspended', 'mysql', true),
  delegated('delegation to Redis', 'postgres', true, true),
];

/** Shorter times than the gateway's, and still long enough for a busy machine. */
export const SHORT_TIMES: DelegationTimes = {
  beat: 500,
  alone: 2_500,
  settle: 5_000,
  suspend: 6_500,
  forget: 9_000,
};

/** A database of the test, closed before it is dropped. */
export async function openTestDatabase(t: ExecutionContext, family: Family) {
  const fresh = await freshDatabase(t, family);
  if (fresh === undefined) return undefined;
  const database: Database = await openDatabase(fresh.options);
  onEnd(t, () => database.close());
  const tickets = async (key: string) => {
    const [row] = await fresh.ask(`select count(*) as n from kernel_lock_tickets where name = '${key}'`);
    return Number(row?.n);
  };
  return { fresh, database, tickets };
}

/** Keys of the shared Redis under a prefix of the test's own, removed at its end. */
export function openTestRedis(t: ExecutionContext) {
  const prefix = `test:${randomBytes(8).toString('hex')}`;
  const client = new Redis({ host: '127.0.0.1', port: 6379 });
  onEnd(t, async () => {
    const keys = await client.keys(`{${prefix}}:*`);
    if (keys.length > 0) await client.del(keys);
    client.disconnect();
  });
  return { client, prefix, tickets: (key: string) => client.zcard(`{${prefix}}:line:${key}`) };
}

/** Locks over these claims, closed with the test, which can be killed. */
export function replicaOf(t: ExecutionContext, claims: Claims, log = silent): Replica {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const mortal: Claims = {
    ...claims,
    claim: (key, lease) => {
      const claim = claims.claim(key, lease);
      return {
        get fence() {
          return claim.fence;
        },
        attempt: (inLine) => (isDead ? never : claim.attempt(inLine)),
        renew: () => (isDead ? Promise.reject(new Error('killed')) : claim.renew()),
        heldUntil: () => claim.heldUntil(),
        release: () => (isDead ? Promise.reject(new Error('killed')) : claim.release()),
      };
    },
  };
  const locks = createLocks({ claims: mortal, clock, ids, log });
  onEnd(t, async () => {
    if (isDead) await claims.close();
    else await locks.close();
  });
  return {
    locks,
    kill: () => {
      isDead = true;
    },
  };
}

const ends = new WeakMap<ExecutionContext, (() => Promise<void>)[]>();

/** Runs what was said last first, and each after the other: locks are closed before their database. */
export function onEnd(t: ExecutionContext, end: () => Promise<void>): void {
  const known = ends.get(t);
  if (known !== undefined) {
    known.unshift(end);
    return;
  }
  const all = [end];
  ends.set(t, all);
  t.teardown(async () => {
    for (const next of all) await next();
  });
}
