import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import type { EventLoss } from '../../../../foundation/messages/events/event-metrics.ts';
import { defineEvent, type Events } from '../../../../foundation/messages/events/events.ts';
import { type OpenEventsOptions, openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { openRedis } from '../../../../foundation/redis/open-redis.ts';
import { recordedMetrics } from '../../../support/metrics.ts';
import { available } from '../../../support/services.ts';
import { until } from '../../../support/until.ts';

/** How long a test waits for something on a busy machine. */
export const PATIENCE = 20_000;

export const POSTGRES_URL = 'postgres://root@127.0.0.1:5432/test';
export const REDIS_URL = 'redis://127.0.0.1:6379';

export const Counted = defineEvent('test.counted', Type.Object({ n: Type.Integer() }));
export const Noted = defineEvent('test.noted', Type.Object({ text: Type.String() }));

/** A channel of the test's own, with characters that need quoting everywhere. */
export function ownChannel(): string {
  return `te"st's \${x} ${randomBytes(8).toString('hex')}`;
}

/** One replica, with what it logged and observed. */
export interface Replica {
  readonly events: Events;
  readonly logged: string[];
  readonly dropped: Partial<Record<EventLoss, number>>;
  /** Calls of `onMissed`; the first one tells that the connection stands. */
  missed: number;
  /** What `connected` said, in order. */
  readonly connected: boolean[];
}

/**
 * A connection to Redis as a process opens it, and the lines that it logs; closed with the test, after the events on
 * it.
 */
export async function connectRedis(t: ExecutionContext, url: string) {
  const logged: string[] = [];
  const redis = await openRedis({
    url,
    deployment: 'test',
    clock: systemClock,
    ids: createIds(systemClock),
    log: logInto(logged),
  });
  t.teardown(() => redis.close());
  return { redis, logged };
}

/** As `openReplica`, with a Redis of its own: `logged` is what the whole process logs. */
export async function openOnRedis(
  t: ExecutionContext,
  url: string,
  options: Partial<OpenEventsOptions> = {},
): Promise<Replica> {
  const { redis, logged } = await connectRedis(t, url);
  return openReplica(t, { ...options, redis }, logged);
}

function logInto(logged: string[]) {
  const keep = (_: unknown, line?: string) => logged.push(line ?? String(_));
  return { info: keep, warn: keep, error: keep } as never;
}

/** Opens a replica with quick reconnects; closed with the test. */
export function openReplica(
  t: ExecutionContext,
  options: Partial<OpenEventsOptions>,
  logged: string[] = [],
): Replica {
  const dropped: Replica['dropped'] = {};
  const connected: boolean[] = [];
  const events = openEvents({
    ids: createIds(systemClock),
    clock: systemClock,
    log: logInto(logged),
    metrics: recordedMetrics((name, [reason], value) => {
      if (name === 'svc_events_connected') connected.push(value === 1);
      if (name !== 'svc_events_dropped_total' || value === 0) return;
      dropped[reason as EventLoss] = (dropped[reason as EventLoss] ?? 0) + value;
    }),
    ...options,
    limits: { missedEvery: 1, backoff: { first: 20, most: 200 }, ...options.limits },
  });
  const replica: Replica = { events, logged, dropped, connected, missed: 0 };
  events.onMissed(() => {
    replica.missed += 1;
  });
  t.teardown(() => events.close());
  return replica;
}

/** Resolves when the connection of every replica stands, and the caches were told of it. */
export function connected(...replicas: Replica[]): Promise<void> {
  return until(
    () => replicas.every((each) => each.connected.at(-1) === true && each.missed >= countOf(each, true)),
    PATIENCE,
  );
}

/** Resolves when the outage was noticed. */
export function disconnected(...replicas: Replica[]): Promise<void> {
  return until(() => replicas.every((each) => each.connected.at(-1) === false), PATIENCE);
}

function countOf({ connected }: Replica, state: boolean): number {
  return connected.filter((each) => each === state).length;
}

/** The numbers that arrive at a replica. */
export function numbersAt({ events }: Replica): number[] {
  const numbers: number[] = [];
  events.on(Counted, ({ n }) => {
    numbers.push(n);
  });
  return numbers;
}

/** A form of events, and two replicas that share it (with reach `process` twice the same one). */
export interface Form {
  readonly name: Events['reach'];
  /** Undefined where the server is missing; the test is marked then. */
  open(t: ExecutionContext, limits?: OpenEventsOptions['limits']): Promise<[Replica, Replica] | undefined>;
}

export const FORMS: readonly Form[] = [
  {
    name: 'process',
    open: async (t, limits) => {
      const replica = openReplica(t, { limits });
      return [replica, replica];
    },
  },
  {
    name: 'redis',
    open: (t, limits) => pair(t, 'redis', (channel) => openOnRedis(t, REDIS_URL, { channel, limits })),
  },
  {
    name: 'postgres',
    open: (t, limits) =>
      pair(t, 'postgres', async (channel) => openReplica(t, { postgresUrl: POSTGRES_URL, channel, limits })),
  },
];

async function pair(
  t: ExecutionContext,
  server: 'redis' | 'postgres',
  open: (channel: string) => Promise<Replica>,
): Promise<[Replica, Replica] | undefined> {
  if (!(await available(t, server))) return undefined;
  const channel = ownChannel();
  const replicas: [Replica, Replica] = [await open(channel), await open(channel)];
  await connected(...replicas);
  return replicas;
}
