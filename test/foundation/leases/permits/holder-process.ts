import pino from 'pino';
import { systemClock as clock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../foundation/data/database.ts';
import { openPermits } from '../../../../foundation/leases/permits/open-permits.ts';

/*
 * A process that takes two places under `k`, says so, and lives until it is killed.
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
const permits = await openPermits({
  redisUrl: redisUrl || undefined,
  prefix,
  database,
  clock,
  ids: createIds(clock),
  log,
});
const outcomes = [];
for (const name of ['a', 'b']) outcomes.push(await permits.tryAcquire('k', { name, limit: 2 }));
process.stdout.write(outcomes.every((outcome) => typeof outcome !== 'string') ? 'held\n' : 'refused\n');
setInterval(() => {}, 60_000);
