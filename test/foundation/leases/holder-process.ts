import pino from 'pino';
import { systemClock as clock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { openDatabase } from '../../../foundation/data/database.ts';
import { openLeases } from '../../../foundation/leases/open-leases.ts';
import { createMetricRegistry } from '../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';
import { openRedis } from '../../../foundation/redis/open-redis.ts';

/*
 * A process that takes two leases under `k`, says so, and lives until it is killed.
 * Arguments: driver, URL of the database, URL of Redis or empty, prefix in Redis.
 */
const [driver, url, redisUrl, prefix] = process.argv.slice(2) as [
  'postgres' | 'mysql',
  string,
  string,
  string,
];
const log = pino({ level: 'silent' });
const database = await openDatabase({ driver, url, log, clock });
const ids = createIds(clock);
const redis = redisUrl ? await openRedis({ url: redisUrl, deployment: 'test', clock, ids, log }) : undefined;
const metrics = createPluginMetrics(createMetricRegistry(), 'kernel');
const leases = await openLeases({ redis, prefix, database, clock, ids, log, metrics });
const outcomes = [];
for (const name of ['a', 'b']) outcomes.push(await leases.tryAcquire('k', { name, limit: 2 }));
process.stdout.write(outcomes.every((outcome) => typeof outcome !== 'string') ? 'held\n' : 'refused\n');
setInterval(() => {}, 60_000);
