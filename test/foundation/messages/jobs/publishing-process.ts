import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../foundation/data/database.ts';
import { openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { jobRegistration } from '../../../../foundation/messages/jobs/job-table.ts';
import { openJobs } from '../../../../foundation/messages/jobs/open-jobs.ts';
import { unreadMetrics } from '../../../support/metrics.ts';
import { charge, Invoice, invoices } from './jobs-kit.ts';

/**
 * A process that publishes jobs with their data, rolls back every third transaction, and works on jobs, until it is
 * killed. Its arguments: the family, the URL or file, the tenant. Writes a line for each transaction that is about to
 * commit, that has committed, and that was rolled back.
 */
const [family, where, tenant] = process.argv.slice(2) as ['sqlite' | 'postgres' | 'mysql', string, string];
const common = { clock: systemClock, ids: createIds(systemClock), log: pino({ level: 'silent' }) };
const metrics = unreadMetrics();
const database = await openDatabase({
  driver: family,
  clock: systemClock,
  log: common.log,
  ...(family === 'sqlite' ? { file: where } : { url: where }),
});
for (const registration of [jobRegistration, invoices]) await database.register(registration);
const events = openEvents({ ...common, metrics, ...(family === 'postgres' ? { postgresUrl: where } : {}) });
const jobs = openJobs({
  ...common,
  metrics,
  events,
  database,
  withoutSecrets: (text) => text,
  times: { lease: 1_000, sweep: 100 },
});
const say = (line: string) => process.stdout.write(`${line}\n`);

jobs.work(
  charge({ attempts: 20 }),
  async ({ n }) => {
    await pause(20);
    say(`done ${n}`);
  },
  { concurrency: 3 },
);

const entities = database.forTenant(tenant);
async function publishFrom(first: number): Promise<void> {
  for (let n = first; ; n += 4) {
    // SQLite answers at once: without a pause nothing else would get its turn.
    await pause(10);
    await entities
      .transaction(
        async (inside) => {
          await inside.insert(Invoice, { id: randomUUID(), n });
          await jobs.publish(inside, charge({ attempts: 20 }), { n });
          if (n % 3 === 0) throw new Error('undone');
        },
        { retries: 5 },
      )
      .then(
        () => say(`committed ${n}`),
        () => say(`undone ${n}`),
      );
  }
}
await Promise.all([0, 1, 2, 3].map(publishFrom));
