import test, { type ExecutionContext } from 'ava';
import Type from 'typebox';
import { defineEvent } from '../../foundation/messages/events/events.ts';
import { defineHint } from '../../foundation/messages/hints/hints.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { type OwnRedis, startOwnRedis } from '../kernel/limits/own-redis.ts';
import { type FreshDatabase, gatewayDatabase } from '../support/databases.ts';
import { testPlugin } from '../support/plugins.ts';
import { until } from '../support/until.ts';

/*
 * Two replicas of one deployment, as far as leases, queue and events go: on PostgreSQL with and without Redis, and on
 * MariaDB with Redis, which is then lost and comes back.
 */

const Happened = defineEvent('both.happened', Type.Object({ id: Type.String() }));
const Work = defineHint('both.work', Type.Object({ id: Type.String() }));

interface Replica {
  readonly gateway: TestGateway;
  /** Ids of the events that it heard. */
  readonly heard: string[];
  /** Ids of the messages that it took up. */
  readonly worked: string[];
}

const PATIENCE = 30_000;

async function startBoth(t: ExecutionContext, env: Record<string, string>): Promise<[Replica, Replica]> {
  const start = async (): Promise<Replica> => {
    const heard: string[] = [];
    const worked: string[] = [];
    const plugin = testPlugin('both', {
      setup(scope) {
        scope.on(Happened, ({ id }) => void heard.push(id));
        scope.onHint(Work, async ({ id }) => void worked.push(id), { concurrency: 2 });
      },
    });
    const gateway = await startTestGateway({ plugins: [plugin], env });
    t.teardown(gateway.stop);
    return { gateway, heard, worked };
  };
  return Promise.all([start(), start()]);
}

const servicesOf = ({ gateway }: Replica) => gateway.gateway.services;

/** Resolves when an event of each replica was heard by the other; the connections may have to stand first. */
async function eventsFlow([one, other]: readonly [Replica, Replica]): Promise<void> {
  let round = 0;
  await until(() => {
    round += 1;
    servicesOf(one).events.emit(Happened, { id: `from-one-${round}` });
    servicesOf(other).events.emit(Happened, { id: `from-other-${round}` });
    return (
      other.heard.some((id) => id.startsWith('from-one')) &&
      one.heard.some((id) => id.startsWith('from-other'))
    );
  }, PATIENCE);
}

/** Publishes until everything was taken up: what could not be handed over is published again, as a sweeper would. */
async function messagesArrive(replicas: readonly [Replica, Replica], prefix: string): Promise<void> {
  const ids = Array.from({ length: 40 }, (_, index) => `${prefix}-${index}`);
  const taken = () => new Set(replicas.flatMap(({ worked }) => worked));
  await until(async () => {
    for (const id of ids) {
      if (!taken().has(id)) await servicesOf(replicas[0]).hints.send(Work, { id }, { id });
    }
    return ids.every((id) => taken().has(id));
  }, PATIENCE);
}

/** Takes one lease again and again in both replicas, until `isOver`. */
function contend(replicas: readonly [Replica, Replica], isOver: () => boolean) {
  const seen = { holders: 0, most: 0, rounds: 0 };
  const work = async ({ gateway }: Replica) => {
    const { leases } = gateway.gateway.services;
    while (!isOver()) {
      await leases
        .withLease('both.lease', { wait: PATIENCE }, async ({ signal }) => {
          seen.holders += 1;
          seen.most = Math.max(seen.most, seen.holders);
          await new Promise((resolve) => setImmediate(resolve));
          seen.rounds += 1;
          seen.holders -= 1;
          signal.throwIfAborted();
        })
        .catch((failure: { code?: string }) => {
          // A lease may be lost with Redis; the next round gets another one.
          if (failure.code !== 'lock.lost' && failure.code !== 'lock.unavailable') throw failure;
        });
    }
  };
  const workers = replicas.flatMap((replica) => [work(replica), work(replica), work(replica)]);
  return { seen, ended: Promise.all(workers) };
}

/** Publishes once, and sees each message taken up once. */
async function eachArrivesOnce(t: ExecutionContext, replicas: readonly [Replica, Replica]): Promise<void> {
  const ids = Array.from({ length: 40 }, (_, index) => `once-${index}`);
  for (const id of ids) t.true(await servicesOf(replicas[0]).hints.send(Work, { id }));
  const worked = () => replicas.flatMap((replica) => replica.worked).filter((id) => id.startsWith('once'));
  await until(() => new Set(worked()).size === ids.length, PATIENCE);
  t.deepEqual(worked().toSorted(), ids.toSorted());
}

async function checkServices(t: ExecutionContext, replicas: readonly [Replica, Replica]): Promise<void> {
  await eventsFlow(replicas);
  await messagesArrive(replicas, 'first');
  await eachArrivesOnce(t, replicas);
  let isOver = false;
  const { seen, ended } = contend(replicas, () => isOver);
  await until(() => seen.rounds > 40, PATIENCE);
  isOver = true;
  await ended;
  t.is(seen.most, 1);
}

async function surviveRedis(
  t: ExecutionContext,
  redis: OwnRedis,
  replicas: readonly [Replica, Replica],
): Promise<void> {
  let isOver = false;
  const { seen, ended } = contend(replicas, () => isOver);
  await until(() => seen.rounds > 20, PATIENCE);
  await redis.kill();
  const before = seen.rounds;
  // Without Redis the database grants them, once every lease of Redis is over.
  await until(() => seen.rounds > before + 20, 2 * PATIENCE);
  t.false(await servicesOf(replicas[0]).hints.send(Work, { id: 'lost' }));
  t.is((await replicas[0].gateway.request('/health/ready')).status, 200);
  await redis.start();
  const after = seen.rounds;
  await until(() => seen.rounds > after + 20, 2 * PATIENCE);
  isOver = true;
  await ended;
  t.is(seen.most, 1, 'never two holders');
  replicas[0].heard.length = 0;
  replicas[1].heard.length = 0;
  await eventsFlow(replicas);
  await messagesArrive(replicas, 'second');
}

const SETUPS = [
  { title: 'PostgreSQL without Redis', family: 'postgres', withRedis: false, form: 'postgres' },
  { title: 'PostgreSQL with Redis', family: 'postgres', withRedis: true, form: 'redis' },
  { title: 'MariaDB with Redis', family: 'mysql', withRedis: true, form: 'redis' },
] as const;

for (const { title, family, withRedis, form } of SETUPS) {
  test(`two replicas on ${title}: leases exclude, queues deliver, events arrive${withRedis ? ', and the loss of Redis is survived' : ''}`, async (t) => {
    t.timeout(240_000);
    const fresh: FreshDatabase | undefined = await gatewayDatabase(t, family);
    const redis = withRedis ? await startOwnRedis(t) : undefined;
    if (fresh === undefined || (withRedis && redis === undefined)) return;
    const replicas = await startBoth(t, {
      ...fresh.environment,
      ...(redis === undefined ? {} : { REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
    });
    t.is(servicesOf(replicas[0]).hints.form, form);
    t.is(servicesOf(replicas[0]).events.reach, form);
    await checkServices(t, replicas);
    if (redis !== undefined) await surviveRedis(t, redis, replicas);
  });
}
