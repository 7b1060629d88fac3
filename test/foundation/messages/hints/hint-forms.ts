import { randomBytes } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import { Redis } from 'ioredis';
import pino, { type Logger } from 'pino';
import Type from 'typebox';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../foundation/data/database.ts';
import type { Family } from '../../../../foundation/data/family.ts';
import { openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { defineHint, type Hints, type SendOptions } from '../../../../foundation/messages/hints/hints.ts';
import { type OpenHintsOptions, openHints } from '../../../../foundation/messages/hints/open-hints.ts';
import { freshDatabase } from '../../../support/databases.ts';
import { recordedMetrics } from '../../../support/metrics.ts';
import { available } from '../../../support/services.ts';
import { until } from '../../../support/until.ts';

/** The queue of most tests. */
export const Steps = defineHint('workflow.steps', Type.Object({ n: Type.Integer() }));

/** How long tests wait for something to come. */
export const PATIENCE_MS = 20_000;
/**
 * What `publish` promises is a second; on a machine that is busy with tests this tells it from waiting for a server
 * that is away.
 */
export const WITHOUT_WAITING_MS = 10_000;

/** A queue with what it told. */
export interface Told {
  readonly queue: Hints;
  /** `published <queue> <result>` and `delivered <queue> <result>`. */
  readonly counts: string[];
  /** The lines of the log. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly lines: any[];
}

/** A place for queues: each `open` is one more replica. */
export interface Place {
  readonly form: CarryingForm;
  open(): Promise<Told>;
}

export type CarryingForm = 'process' | 'redis' | 'postgres';

/** What a test says of a queue: the database is one that needs no server, unless it says another. */
export type ToldOptions = Partial<Omit<OpenHintsOptions, 'database' | 'events' | 'log'>> & {
  readonly family?: Family;
  readonly postgresUrl?: string;
  /** Where events reach PostgreSQL; default `postgresUrl`. */
  readonly eventsUrl?: string;
};

/** Opens a queue that closes with the test. */
export async function openTold(
  t: ExecutionContext,
  { family = 'sqlite', postgresUrl, eventsUrl = postgresUrl, ...options }: ToldOptions = {},
): Promise<Told> {
  const counts: string[] = [];
  const lines: unknown[] = [];
  const log = pino(
    { level: 'debug', base: undefined },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  const common = { clock: systemClock, ids: createIds(systemClock), log };
  const metrics = recordedMetrics((name, [id, result]) => {
    if (name === 'svc_queue_published_total') counts.push(`published ${id} ${result}`);
    if (name === 'svc_queue_deliveries_total') counts.push(`delivered ${id} ${result}`);
  });
  const events = openEvents({
    ...common,
    metrics,
    ...(eventsUrl === undefined ? {} : { postgresUrl: eventsUrl }),
  });
  const database = await databaseOf(t, family, postgresUrl, log);
  const queue = await openHints({ ...common, metrics, events, database, ...options });
  t.teardown(async () => {
    await queue.close();
    await events.close();
  });
  return { queue, counts, lines };
}

/** The form is chosen by the family; only the tests of PostgreSQL ask the database for anything. */
async function databaseOf(t: ExecutionContext, family: Family, url: string | undefined, log: Logger) {
  if (url === undefined) return { family, system: () => t.fail('the database is asked') as never };
  const database = await openDatabase({
    driver: family,
    url,
    log,
    clock: systemClock,
    guardTransactions: true,
  });
  t.teardown(() => database.close());
  return database;
}

/**
 * Publishes until the message is taken: on a machine that is very busy the first answer may be that the server is away.
 * It has the same id each time, or one message could become two.
 */
export async function send(queue: Hints, payload: { n: number }, options?: SendOptions): Promise<void> {
  const id = `sent-${randomBytes(8).toString('hex')}`;
  await until(() => queue.send(Steps, payload, { id, ...options }), PATIENCE_MS);
}

/** Publishes messages 0 to `count` - 1, a few at a time. */
export async function sendMany(queue: Hints, count: number): Promise<void> {
  let next = 0;
  const sendRest = async () => {
    while (next < count) {
      const n = next;
      next += 1;
      await send(queue, { n });
    }
  };
  await Promise.all([sendRest(), sendRest(), sendRest()]);
}

/** A prefix of its own on the shared Redis; its keys go with the test. */
export function ownPrefix(t: ExecutionContext, url = 'redis://127.0.0.1:6379'): string {
  const prefix = `test-${randomBytes(8).toString('hex')}`;
  t.teardown(async () => {
    const redis = new Redis(url, { lazyConnect: true });
    redis.on('error', () => {});
    try {
      await redis.connect();
      const keys = await redis.keys(`${prefix}:*`);
      if (keys.length > 0) await redis.del(...keys);
    } catch {
      // A server of the test's own may be gone, and its keys with it.
    } finally {
      redis.disconnect();
    }
  });
  return prefix;
}

/** Makes a place for the form, or answers `undefined` when its server is missing. */
export async function placeOf(t: ExecutionContext, form: CarryingForm): Promise<Place | undefined> {
  if (form === 'process') {
    return { form, open: () => openTold(t, { family: 'sqlite' }) };
  }
  if (form === 'redis') {
    if (!(await available(t, 'redis'))) return undefined;
    const prefix = ownPrefix(t);
    return {
      form,
      open: () => openTold(t, { redisUrl: 'redis://127.0.0.1:6379', family: 'postgres', prefix }),
    };
  }
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return undefined;
  const postgresUrl = fresh.environment.DATABASE_URL as string;
  return { form, open: () => openTold(t, { postgresUrl, family: 'postgres' }) };
}

/** Defines one test per form that carries messages. */
export function eachForm(
  test: TestFn,
  title: string,
  run: (t: ExecutionContext, place: Place) => Promise<void>,
  forms: readonly CarryingForm[] = ['process', 'redis', 'postgres'],
): void {
  for (const form of forms) {
    test(`${form}: ${title}`, async (t) => {
      await takeTurn(t);
      const place = await placeOf(t, form);
      if (place !== undefined) await run(t, place);
    });
  }
}

/** Tests of one process that run at one time: deadlines mean little where everything waits for everything. */
const TURNS = 6;
const waiting: (() => void)[] = [];
let running = 0;

async function takeTurn(t: ExecutionContext): Promise<void> {
  if (running < TURNS) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  t.teardown(() => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  });
}
