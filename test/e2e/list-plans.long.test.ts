import test, { type ExecutionContext } from 'ava';
import type { CompiledQuery } from 'kysely';
import pino from 'pino';
import { systemClock } from '../../foundation/base/clock.ts';
import { createIds } from '../../foundation/base/ids.ts';
import { type Database, openDatabase } from '../../foundation/data/database.ts';
import { registerKernelTables } from '../../foundation/gateway-tables.ts';
import { createLeases } from '../../foundation/leases/create-leases.ts';
import { createMemoryStore } from '../../foundation/leases/memory-store.ts';
import records from '../../plugins/records/plugin.ts';
import { createUsageRollup } from '../../plugins/records/services/metering/usage-rollup.ts';
import runtime from '../../plugins/runtime/plugin.ts';
import workflow from '../../plugins/workflow/plugin.ts';
import { fillTables, type Sizes } from '../../scripts/bench/lists/large-tables.ts';
import { questionsAbout } from '../../scripts/bench/lists/questions.ts';
import { startTestGateway } from '../../testing/index.ts';
import { newMetrics } from '../foundation/leases/forms.ts';
import { eachGatewayDatabase } from '../support/databases.ts';
import { planProblems } from '../support/query-plans.ts';
import { recordStatements } from '../support/statements.ts';

const SIZES: Sizes = {
  days: 100,
  usage: 20_000,
  sessions: 40_000,
  receipts: 40_000,
  audit: 40_000,
  runs: 40_000,
  conversations: 40_000,
  definitions: 40_000,
  files: 40_000,
  // Of a tenant that has much of a table a server reads that from end to end, and rightly.
  largest: 0.08,
};

const LIMITS = {
  tables: [
    'usage_records',
    'sessions',
    'execution_receipts',
    'audit_logs',
    'workflow_runs',
    'workflow_definitions',
    'runtime_conversations',
    'files',
  ],
  rows: 1_000,
  // A request makes as many calls as its agent has turns.
  selective: ['usage_records_request'],
};

const DAY = 24 * 60 * 60 * 1000;

// One after the other: SQLite fills its tables in this process, which would keep the others from connecting in time.
eachGatewayDatabase(
  test.serial,
  'no list and no report reads or sorts a large table',
  async (t, { options, environment, family, ask }) => {
    t.timeout(10 * 60_000);
    const now = Date.now();
    const analyze = async () => {
      if (family === 'postgres') await ask('vacuum (analyze)');
      if (family === 'mysql') for (const table of LIMITS.tables) await ask(`analyze table ${table}`);
    };
    const database = await openDatabase(options);
    await registerKernelTables(database);
    for (const { name: owner, entities = [], migrations = [] } of [records, workflow, runtime])
      await database.register({ owner, entities, migrations });
    const filled = await fillTables(database, SIZES, now);
    await analyze();
    const ofRollup = recordStatements(database);
    await addUpUsage(t, database, now);
    const added = middleOfEach(ofRollup.take());
    await analyze();
    const problems: string[] = [];
    for (const query of added) problems.push(...(await planProblems(family, ofRollup, query, LIMITS)));
    t.true(added.length >= 4, 'sums, sessions, days that come next, days that are counted again');
    await database.close();

    const gateway = await startTestGateway({ env: environment });
    t.teardown(gateway.stop);
    const record = recordStatements(gateway.gateway.services.database);
    for (const { title, path, key } of questionsAbout(SIZES, filled, now)) {
      record.take();
      const { status } = await gateway.request(path, { token: key });
      t.is(status, 200, title);
      const reading = record.take().filter(readsLargeTable);
      if (!/usage.* (?:day|month|24 months)/.test(title)) t.true(reading.length > 0, title);
      for (const query of reading) {
        const found = await planProblems(family, record, query, LIMITS);
        problems.push(...found.map((problem) => `${title}: ${problem}`));
      }
    }
    t.deepEqual(problems, []);
  },
);

/** Adds up all days but one, and then that one, as the gateway does in the background. */
async function addUpUsage(t: ExecutionContext, database: Database, now: number): Promise<void> {
  let moment = now - DAY;
  const clock = { ...systemClock, now: () => moment };
  const ids = createIds(systemClock);
  const log = pino({ level: 'silent' });
  const common = { clock: systemClock, ids, log, metrics: newMetrics(), store: createMemoryStore() };
  const leases = createLeases(common);
  t.teardown(() => leases.close());
  const rollup = createUsageRollup({ database, leases, clock, ids });
  await rollup.run(new AbortController().signal);
  moment = now;
  await rollup.run(new AbortController().signal);
}

/** The sweeps of the workflow engine go on meanwhile, and are not looked at. */
function readsLargeTable({ sql }: CompiledQuery): boolean {
  if (/wake_at <=|owner =/.test(sql)) return false;
  const reads = /^(?:set local [^;]*; )*(?:select|insert into \w+ \([^)]*\)\s+select)\b/.test(
    sql.trimStart(),
  );
  return reads && LIMITS.tables.some((table) => new RegExp(`(?:from|join) \\W?${table}\\b`).test(sql));
}

/** Of statements that differ in their values alone, the one in the middle. */
function middleOfEach(statements: readonly CompiledQuery[]): readonly CompiledQuery[] {
  const alike = Map.groupBy(statements.filter(readsLargeTable), ({ sql }) => sql.replace(/'[^']*'/g, '?'));
  return [...alike.values()].map((group) => group[Math.floor(group.length / 2)]!);
}
