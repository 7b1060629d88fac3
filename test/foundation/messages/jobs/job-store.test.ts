import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { openDatabase } from '../../../../foundation/data/database.ts';
import { createJobStore } from '../../../../foundation/messages/jobs/job-store.ts';
import { JobRow, jobRegistration } from '../../../../foundation/messages/jobs/job-table.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { planProblems } from '../../../support/query-plans.ts';
import { recordStatements } from '../../../support/statements.ts';
import { charge, openReplica, TENANT } from './jobs-kit.ts';

const DEAD = 5_000;
const LEASE_MS = 30_000;
/** Long for a sweep, and short beside what MySQL waits for a lock. */
const PATIENCE_MS = 10_000;
const LIMITS = { tables: ['kernel_jobs'], rows: 100, selective: [] };

/** A dead job as it is stored. */
const rowOf = (createdAt: number) => ({
  id: randomUUID(),
  queue: 'billing.charge',
  state: 'dead',
  payload: '{"n":1}',
  uniqueKey: null,
  attempt: 10,
  maxAttempts: 10,
  createdAt,
  dueAt: createdAt,
  ticket: null,
  error: 'no card',
});

/** SQLite has one writer: there every writer waits for a transaction. */
const eachServer = (title: string, run: Parameters<typeof eachDatabase>[2]) =>
  eachDatabase(test, title, async (t, fresh) => {
    if (fresh.family === 'sqlite') t.pass();
    else await run(t, fresh);
  });

eachDatabase(test, 'a sweep reads what is due, and not the dead jobs that are kept', async (t, fresh) => {
  const { database } = await openReplica(t, fresh);
  const now = Date.now();
  await database.forTenant(TENANT).insertMany(
    JobRow,
    Array.from({ length: DEAD }, (_, n) => ({ ...rowOf(now - n), dueAt: now + 3_600_000 + n })),
  );
  if (fresh.family !== 'sqlite')
    await fresh.ask(fresh.family === 'postgres' ? 'analyze' : 'analyze table kernel_jobs');
  const record = recordStatements(database);
  await createJobStore(database, systemClock).sweep(new Set(['billing.charge']), LEASE_MS);
  const statements = record.take();
  t.true(statements.some(({ sql }) => sql.includes('due_at <=')));
  for (const statement of statements)
    t.deepEqual(await planProblems(fresh.family, record, statement, LIMITS), []);
});

eachServer('a sweep does not wait for a transaction that publishes a job', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh);
  const entities = database.forTenant(TENANT);
  const due = await jobs.publish(entities, charge(), { n: 1 });
  await fresh.ask(`update kernel_jobs set state = 'scheduled', due_at = 1 where id = '${due}'`);
  const { promise: swept, resolve: end } = Promise.withResolvers<void>();
  const { promise: published, resolve: begin } = Promise.withResolvers<void>();
  // One that takes long, as an erasure may.
  const other = await openDatabase({ ...fresh.options, guardTransactions: false });
  t.teardown(() => other.close());
  await other.register(jobRegistration);
  const open = other.transaction(async (em) => {
    await em.insert(JobRow, { ...rowOf(2), tenantId: TENANT, state: 'waiting' });
    begin();
    await swept;
  });
  await published;
  const sweep = createJobStore(database, systemClock).sweep(new Set(['billing.charge']), LEASE_MS);
  try {
    const { begun } = await Promise.race([sweep, pause(PATIENCE_MS).then(() => ({ begun: ['it waits'] }))]);
    t.deepEqual(begun, ['billing.charge']);
  } finally {
    end();
    await open;
    await sweep;
  }
});
