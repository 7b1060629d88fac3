import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { Redis as Client } from 'ioredis';
import pino from 'pino';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { type Database, type Family, openDatabase } from '../../../foundation/data/database.ts';
import { createLeases } from '../../../foundation/leases/create-leases.ts';
import type { LeaseSignals } from '../../../foundation/leases/lease-signals.ts';
import type { LeaseStore } from '../../../foundation/leases/lease-store.ts';
import { leaseRegistration } from '../../../foundation/leases/lease-tables.ts';
import type { Lease, LeaseRefusal, OpenLeases } from '../../../foundation/leases/leases.ts';
import { createMemoryStore } from '../../../foundation/leases/memory-store.ts';
import { createRedisFirstStore } from '../../../foundation/leases/redis-first-store.ts';
import { createRedisStore } from '../../../foundation/leases/redis-store.ts';
import { createTableStore } from '../../../foundation/leases/table-store.ts';
import { createMetricRegistry } from '../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';
import { openRedis } from '../../../foundation/redis/open-redis.ts';
import type { Redis } from '../../../foundation/redis/redis.ts';
import { freshDatabase } from '../../support/databases.ts';
import { available } from '../../support/services.ts';

export const clock = systemClock;
export const ids = createIds(clock);
export const silent = pino({ level: 'silent' });
export const newMetrics = () => createPluginMetrics(createMetricRegistry(), 'kernel');

/** A store that several replicas share, for one test. */
export interface SharedStore {
  /** A replica of its own, closed with the test. */
  replica(signals?: LeaseSignals): Promise<Replica>;
  /** How many wait in the store for the lease of this key that has no name. */
  tickets(key: string): Promise<number>;
}

/** The leases of one process, which can be killed. */
export interface Replica {
  readonly leases: OpenLeases;
  /** From now on it renews nothing, gives nothing back and asks no more, as a process that died. */
  kill(): void;
}

/** One form of the leases. */
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
    const only = replicaOf(t, createMemoryStore());
    return { replica: async () => only, tickets: async () => 0 };
  },
};

const table = (family: Family): Form => ({
  name: `table (${family})`,
  isShared: true,
  async open(t) {
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return undefined;
    return {
      replica: async (signals) => replicaOf(t, createTableStore(opened.database, clock), signals),
      tickets: opened.tickets,
    };
  },
});

const redisFirst: Form = {
  name: 'redis before the table',
  isShared: true,
  async open(t) {
    if (!(await available(t, 'redis'))) return undefined;
    const opened = await openTestDatabase(t, 'mysql');
    if (opened === undefined) return undefined;
    const { prefix, tickets } = openTestRedis(t);
    return {
      replica: async (signals) => {
        const redis = await connect(t);
        const first = createRedisStore(redis, prefix);
        const second = createTableStore(opened.database, clock);
        return replicaOf(t, createRedisFirstStore({ first, second, redis, clock }), signals);
      },
      tickets,
    };
  },
};

/** Every form that the gateway can have. */
export const FORMS: readonly Form[] = [
  memory,
  table('sqlite'),
  table('postgres'),
  table('mysql'),
  redisFirst,
];

/** The lease, where there is one. */
export function granted(outcome: Lease | LeaseRefusal): Lease {
  if (typeof outcome === 'string') throw new Error(`no lease: ${outcome}`);
  return outcome;
}

/** A database of the test with the tables of the leases, closed before it is dropped. */
export async function openTestDatabase(t: ExecutionContext, family: Family) {
  const fresh = await freshDatabase(t, family);
  if (fresh === undefined) return undefined;
  const database: Database = await openDatabase(fresh.options);
  onEnd(t, () => database.close());
  await database.register(leaseRegistration);
  const tickets = async (key: string) => {
    const [row] = await fresh.ask(
      `select count(*) as n from kernel_lease_tickets where lease_key = '${key}' and name = ''`,
    );
    return Number(row?.n);
  };
  return { fresh, database, tickets };
}

/** A connection to a Redis, closed with the test. */
export async function connect(t: ExecutionContext, port = 6379, log = silent): Promise<Redis> {
  const redis = await openRedis({ url: `redis://127.0.0.1:${port}`, deployment: 'test', clock, ids, log });
  onEnd(t, async () => redis.close());
  return redis;
}

/** Keys of the shared Redis under a prefix of the test's own, removed at its end. */
export function openTestRedis(t: ExecutionContext) {
  const prefix = `test:${randomBytes(8).toString('hex')}`;
  const client = new Client({ host: '127.0.0.1', port: 6379 });
  onEnd(t, async () => {
    const keys = await client.keys(`{${prefix}:*`);
    if (keys.length > 0) await client.del(keys);
    client.disconnect();
  });
  return { prefix, tickets: (key: string) => client.zcard(`{${prefix}:${key}}:line:`) };
}

/** Leases over this store, closed with the test, which can be killed. */
export function replicaOf(t: ExecutionContext, store: LeaseStore, signals?: LeaseSignals): Replica {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const dead = () => Promise.reject(new Error('killed'));
  const mortal: LeaseStore = {
    ...store,
    take: (ticket, inLine) => (isDead ? never : store.take(ticket, inLine)),
    renew: (ticket) => (isDead ? dead() : store.renew(ticket)),
    release: (ticket) => (isDead ? dead() : store.release(ticket)),
  };
  const leases = createLeases({ store: mortal, clock, ids, log: silent, metrics: newMetrics(), signals });
  onEnd(t, async () => {
    if (!isDead) await leases.close();
  });
  return {
    leases,
    kill: () => {
      isDead = true;
    },
  };
}

/** Signals between replicas of one process, and what was sent. */
export function localSignals() {
  const sent: string[] = [];
  const listeners = new Set<Pick<LeaseSignals, 'freed' | 'revoked'>>();
  const signals: LeaseSignals = {
    freed: (place) => {
      sent.push(`freed ${place.key}`);
      for (const listener of listeners) listener.freed(place);
    },
    revoked: (ticket) => {
      sent.push('revoked');
      for (const listener of listeners) listener.revoked(ticket);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { signals, sent, listeners };
}

const ends = new WeakMap<ExecutionContext, (() => Promise<void>)[]>();

/** Runs what was said last first, and each after the other: leases are closed before their database. */
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
