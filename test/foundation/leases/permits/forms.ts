import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import type { Family } from '../../../../foundation/data/database.ts';
import { createLockSql } from '../../../../foundation/leases/locks/lock-sql.ts';
import { createPermits } from '../../../../foundation/leases/permits/create-permits.ts';
import { createDatabaseStore } from '../../../../foundation/leases/permits/database-store.ts';
import { createFailoverStore } from '../../../../foundation/leases/permits/failover-store.ts';
import { createMemoryStore } from '../../../../foundation/leases/permits/memory-store.ts';
import type { PermitStore } from '../../../../foundation/leases/permits/permit-store.ts';
import { permitRegistration } from '../../../../foundation/leases/permits/permit-tables.ts';
import type { OpenPermits, Permit, PermitRefusal } from '../../../../foundation/leases/permits/permits.ts';
import { createRedisStore } from '../../../../foundation/leases/permits/redis-store.ts';
import type { Revocations } from '../../../../foundation/leases/permits/revocations.ts';
import { available } from '../../../support/services.ts';
import { clock, ids, onEnd, openTestDatabase, silent } from '../locks/forms.ts';

/** A store that several replicas share, for one test. */
export interface SharedStore {
  /** A replica of its own, closed with the test. */
  replica(options?: { readonly revocations?: Revocations }): Promise<Replica>;
}

/** The permits of one process, which can be killed. */
export interface Replica {
  readonly permits: OpenPermits;
  /** From now on it renews nothing and gives nothing back, as a process that died. */
  kill(): void;
}

/** One form of the permits. */
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
    return { replica: async () => only };
  },
};

const database = (family: Family): Form => ({
  name: `database (${family})`,
  isShared: true,
  async open(t) {
    const store = await openDatabaseStore(t, family);
    if (store === undefined) return undefined;
    return { replica: async (options) => replicaOf(t, store(), options?.revocations) };
  },
});

const redis: Form = {
  name: 'redis',
  isShared: true,
  async open(t) {
    if (!(await available(t, 'redis'))) return undefined;
    const { client, prefix } = openTestRedis(t);
    return {
      replica: async (options) => replicaOf(t, await createRedisStore(client, prefix), options?.revocations),
    };
  },
};

const failover: Form = {
  name: 'redis before the database',
  isShared: true,
  async open(t) {
    if (!(await available(t, 'redis'))) return undefined;
    const second = await openDatabaseStore(t, 'mysql');
    if (second === undefined) return undefined;
    const { client, prefix } = openTestRedis(t);
    return {
      replica: async (options) => {
        const first = await createRedisStore(client, prefix);
        return replicaOf(
          t,
          createFailoverStore({ first, second: second(), log: silent }),
          options?.revocations,
        );
      },
    };
  },
};

/** Every form that the gateway can have, and the stores of the last by themselves. */
export const FORMS: readonly Form[] = [
  memory,
  database('sqlite'),
  database('postgres'),
  database('mysql'),
  redis,
  failover,
];

/** Makes stores over one database of the test. */
export async function openDatabaseStore(t: ExecutionContext, family: Family) {
  const opened = await openTestDatabase(t, family);
  if (opened === undefined) return undefined;
  await opened.database.register(permitRegistration);
  return () => createDatabaseStore(createLockSql(opened.database, clock));
}

/** Keys of the shared Redis under a prefix of the test's own, removed at its end. */
export function openTestRedis(t: ExecutionContext) {
  const prefix = `test:${randomBytes(8).toString('hex')}`;
  const client = new Redis({ host: '127.0.0.1', port: 6379 });
  onEnd(t, async () => {
    const keys = await client.keys(`{${prefix}:*`);
    if (keys.length > 0) await client.del(keys);
    client.disconnect();
  });
  return { client, prefix };
}

/** Permits over this store, closed with the test, which can be killed. */
export function replicaOf(t: ExecutionContext, store: PermitStore, revocations?: Revocations): Replica {
  let isDead = false;
  const killed = () => Promise.reject(new Error('killed'));
  const mortal: PermitStore = {
    ...store,
    renew: (place) => (isDead ? killed() : store.renew(place)),
    release: (place) => (isDead ? killed() : store.release(place)),
  };
  const permits = createPermits({ store: mortal, clock, ids, log: silent, revocations });
  onEnd(t, () => permits.close());
  return {
    permits,
    kill: () => {
      isDead = true;
    },
  };
}

/** The permit, where there is one. */
export function granted(outcome: Permit | PermitRefusal): Permit {
  if (typeof outcome === 'string') throw new Error(`no permit: ${outcome}`);
  return outcome;
}
