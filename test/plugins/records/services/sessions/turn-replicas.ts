import type { ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { type Database, openDatabase, writes } from '../../../../../foundation/data/database.ts';
import type { OpenLeases } from '../../../../../foundation/leases/leases.ts';
import { openLeases } from '../../../../../foundation/leases/open-leases.ts';
import type {
  PricedUse,
  Sessions,
  TurnOutcome,
  TurnRequest,
  Turns,
  UsageOwner,
} from '../../../../../plugins/records/contract.ts';
import { createSessions } from '../../../../../plugins/records/services/sessions/sessions.ts';
import { createTurns } from '../../../../../plugins/records/services/sessions/turns.ts';
import {
  sessionIndexes,
  sessions as sessionTables,
} from '../../../../../plugins/records/store/migrations.ts';
import { Session, SessionMessageEntity } from '../../../../../plugins/records/store/sessions.ts';
import { connect, newMetrics, onEnd, silent } from '../../../../foundation/leases/forms.ts';
import { type FreshDatabase, freshDatabase } from '../../../../support/databases.ts';
import { available } from '../../../../support/services.ts';

export const TENANT = '00000000-0000-0000-0000-00000000000a';
export const OTHER_TENANT = '00000000-0000-0000-0000-00000000000b';
export const ALICE = { tenantId: TENANT, identityId: 'key-1', userId: 'alice' };
export const BOB = { tenantId: TENANT, identityId: 'key-1', userId: 'bob' };

/** One process of a gateway, as far as sessions go. */
export interface TurnReplica {
  readonly database: Database;
  readonly leases: OpenLeases;
  readonly turns: Turns;
  readonly sessions: Sessions;
  /** What was recorded, rolled back transactions included. */
  readonly recorded: { readonly owner: UsageOwner; readonly uses: readonly PricedUse[] }[];
}

/** How a deployment shares its state. */
export type Deployment = 'sqlite' | 'postgres' | 'mysql' | 'postgres with redis';

export const DEPLOYMENTS: readonly Deployment[] = ['sqlite', 'postgres', 'mysql', 'postgres with redis'];

/** Opens so many processes over one empty database; one on SQLite. Undefined where a server is missing. */
export async function turnReplicas(
  t: ExecutionContext,
  deployment: Deployment,
  count = 1,
): Promise<{ readonly fresh: FreshDatabase; readonly replicas: readonly TurnReplica[] } | undefined> {
  const hasRedis = deployment === 'postgres with redis';
  if (hasRedis && !(await available(t, 'redis'))) return undefined;
  const fresh = await freshDatabase(
    t,
    hasRedis ? 'postgres' : (deployment as 'sqlite' | 'postgres' | 'mysql'),
  );
  if (fresh === undefined) return undefined;
  const prefix = `test:${fresh.options.url?.split('/').at(-1) ?? 'sqlite'}`;
  const first = await replica(t, fresh, hasRedis ? 6379 : undefined, prefix);
  if (deployment === 'sqlite') return { fresh, replicas: Array.from({ length: count }, () => first) };
  const others: TurnReplica[] = [];
  for (let index = 1; index < count; index += 1)
    others.push(await replica(t, fresh, hasRedis ? 6379 : undefined, prefix));
  return { fresh, replicas: [first, ...others] };
}

async function replica(
  t: ExecutionContext,
  fresh: FreshDatabase,
  redisPort: number | undefined,
  prefix: string,
): Promise<TurnReplica> {
  const database = await openDatabase(fresh.options);
  onEnd(t, () => database.close());
  await database.register({
    owner: 'agent-engine',
    entities: [Session, SessionMessageEntity],
    migrations: [sessionTables, sessionIndexes],
  });
  const clock = systemClock;
  const redis = redisPort === undefined ? undefined : await connect(t, redisPort);
  const common = { redis, prefix, database, clock, ids: createIds(clock), log: silent };
  const leases = await openLeases({ ...common, metrics: newMetrics() });
  onEnd(t, () => leases.close());
  const recorded: TurnReplica['recorded'] = [];
  const metering = {
    write(owner: UsageOwner, uses: readonly PricedUse[]) {
      recorded.push({ owner, uses });
      return writes.insert(SessionMessageEntity, []);
    },
  };
  const durableEvents = { hasSubscribers: () => false, writes: () => [], publish: async () => {} };
  return {
    database,
    leases,
    recorded,
    turns: createTurns({ ...common, leases, metering, durableEvents }),
    sessions: createSessions({ leases, data: () => [], durableEvents }),
  };
}

/** A request for a turn of Alice. */
export function wanted(request: Partial<TurnRequest> = {}): TurnRequest {
  return {
    principal: ALICE,
    isAdmin: false,
    maxSessions: 100,
    signal: new AbortController().signal,
    ...request,
  };
}

/** What one question and its answer leave behind. */
export function outcome(
  question = 'Hello?',
  answer = 'Hello!',
  more: Partial<TurnOutcome> = {},
): TurnOutcome {
  return {
    model: 'demo',
    source: 'chat',
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ],
    uses: [use(10, 5)],
    ...more,
  };
}

/** A model call of so many tokens. */
export function use(inputTokens: number, outputTokens: number): PricedUse {
  return {
    model: 'demo',
    provider: 'demo',
    providerModel: 'demo',
    inputTokens,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    isEstimated: false,
    costUsd: '0',
  };
}
