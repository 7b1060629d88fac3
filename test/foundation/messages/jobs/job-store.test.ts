import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createJobStore } from '../../../../foundation/messages/jobs/job-store.ts';
import { JobRow } from '../../../../foundation/messages/jobs/job-table.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { planProblems } from '../../../support/query-plans.ts';
import { recordStatements } from '../../../support/statements.ts';
import { openReplica, TENANT } from './jobs-kit.ts';

const DEAD = 5_000;
const LIMITS = { tables: ['kernel_jobs'], rows: 100, selective: [] };

eachDatabase(test, 'a sweep reads what is due, and not the dead jobs that are kept', async (t, fresh) => {
  const { database } = await openReplica(t, fresh);
  const now = Date.now();
  await database.forTenant(TENANT).insertMany(
    JobRow,
    Array.from({ length: DEAD }, (_, n) => ({
      id: randomUUID(),
      queue: 'billing.charge',
      state: 'dead',
      payload: '{"n":1}',
      uniqueKey: null,
      attempt: 10,
      maxAttempts: 10,
      createdAt: now - n,
      dueAt: now + 3_600_000 + n,
      ticket: null,
      error: 'no card',
    })),
  );
  if (fresh.family !== 'sqlite')
    await fresh.ask(fresh.family === 'postgres' ? 'analyze' : 'analyze table kernel_jobs');
  const record = recordStatements(database);
  await createJobStore(database, systemClock).sweep(new Set(['billing.charge']), 30_000);
  const statements = record.take();
  t.true(statements.some(({ sql }) => sql.includes('due_at <=')));
  for (const statement of statements)
    t.deepEqual(await planProblems(fresh.family, record, statement, LIMITS), []);
});
