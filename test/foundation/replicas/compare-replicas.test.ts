import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';
import type { Family } from '../../../foundation/data/family.ts';
import { createMetricRegistry } from '../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';
import { redisScript } from '../../../foundation/redis/redis.ts';
import { compareReplicas } from '../../../foundation/replicas/compare-replicas.ts';
import { replicaRegistration } from '../../../foundation/replicas/replica-table.ts';
import { FAMILIES } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { connect, ids, onEnd, openTestDatabase } from '../leases/forms.ts';

interface Line {
  readonly level: number;
  readonly settings?: readonly string[];
  readonly msg: string;
}

const DIFFER = 'another replica has other values of settings that have to be the same on all';
const AGREE = 'the replicas have the same settings again';

/** Replicas on one database that look at each other all the time. */
async function setUp(t: ExecutionContext, family: Family) {
  const opened = await openTestDatabase(t, family);
  if (opened === undefined) return undefined;
  const { database, fresh } = opened;
  await database.register(replicaRegistration);
  return {
    fresh,
    replica(env: Readonly<Record<string, string>>, redis?: Parameters<typeof compareReplicas>[0]['redis']) {
      const lines: Line[] = [];
      const registry = createMetricRegistry();
      const running = compareReplicas({
        database,
        settings: readKernelSettings(env),
        redis,
        ids,
        log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
        metrics: createPluginMetrics(registry, 'kernel'),
        times: { look: 20, live: 60_000, close: 20_000 },
      });
      onEnd(t, running.close);
      return {
        lines,
        close: running.close,
        differs: async (setting: string) =>
          (await registry.prometheus.metrics()).includes(
            `svc_replica_settings_differ{setting="${setting}"} 1`,
          ),
      };
    },
  };
}

for (const family of FAMILIES.filter((one) => one !== 'sqlite')) {
  test(`replicas whose settings differ tell which, until they agree (${family})`, async (t) => {
    const there = await setUp(t, family);
    if (there === undefined) return;
    const old = `'{"SVC_EGRESS_DEFAULT":"other"}'`;
    await there.fresh.ask(
      `insert into kernel_replicas values ('died', 'x', ${old}, 1), ('ahead', 'x', ${old}, 9e14)`,
    );
    const here = there.replica({});
    await until(async () => (await there.fresh.ask('select id from kernel_replicas')).length === 1);
    const same = there.replica({});
    const other = there.replica({ SVC_EGRESS_DEFAULT: 'deny', SVC_DEPLOYMENT: 'other' });
    const expected = ['SVC_DEPLOYMENT', 'SVC_EGRESS_DEFAULT'];
    for (const { lines } of [here, same, other]) {
      await until(() => lines.length > 0);
      t.like(lines[0], { level: 40, settings: expected, msg: DIFFER });
    }
    for (const setting of expected) t.true(await here.differs(setting));
    t.false(await here.differs('REDIS_URL'));
    const rows = await there.fresh.ask('select settings from kernel_replicas');
    t.is(rows.length, 3);
    t.notRegex(JSON.stringify(rows), /deny|other/);

    await other.close();
    await until(() => here.lines.length > 1 && same.lines.length > 1);
    t.is(here.lines[1]?.msg, AGREE);
    t.false(await here.differs('SVC_EGRESS_DEFAULT'));
    await Promise.all([here.close(), same.close()]);
    t.deepEqual(await there.fresh.ask('select id from kernel_replicas'), []);
    t.is(here.lines.length, 2);
  });
}

test('a replica with a Redis and one without tell each other; two with one Redis do not', async (t) => {
  const there = await setUp(t, 'postgres');
  if (there === undefined) return;
  const redis = await connect(t);
  const env = { SVC_DEPLOYMENT: `test-${randomBytes(6).toString('hex')}` };
  const forget = redisScript(`return redis.call('del', KEYS[1])`);
  onEnd(t, async () => void (await redis.run(forget, [`${env.SVC_DEPLOYMENT}:identity`], [])));
  const [here, same] = [there.replica(env, redis), there.replica(env, redis)];
  const away = there.replica(env, { run: redis.run, isUp: () => false });
  await until(async () => (await there.fresh.ask('select id from kernel_replicas')).length === 3);
  const without = there.replica(env);
  await until(() => here.lines.length > 0 && same.lines.length > 0 && without.lines.length > 0);
  for (const { lines } of [here, same, without]) t.like(lines[0], { settings: ['REDIS_URL'], msg: DIFFER });
  await without.close();
  await until(() => here.lines.length > 1);
  t.is(here.lines[1]?.msg, AGREE);
  t.deepEqual(away.lines, []);
});
