import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createLeases } from '../../../../../foundation/leases/create-leases.ts';
import { createMemoryStore } from '../../../../../foundation/leases/memory-store.ts';
import type { ModelUse, UsagePeriod } from '../../../../../plugins/records/contract.ts';
import { createMetering } from '../../../../../plugins/records/services/metering/metering.ts';
import {
  addUpAgain,
  createUsageRollup,
} from '../../../../../plugins/records/services/metering/usage-rollup.ts';
import { UsageRecordRow } from '../../../../../plugins/records/store/usage.ts';
import {
  findThroughDay,
  saveThroughDay,
  UsageDayRow,
  UsageResetRow,
} from '../../../../../plugins/records/store/usage-days.ts';
import { newMetrics } from '../../../../foundation/leases/forms.ts';
import { eachDatabase, type FreshDatabase } from '../../../../support/databases.ts';
import { chosen, SEED } from '../../../../support/sample.ts';
import { A, B, modelUse, usageTables } from './usage-tables.ts';

const ALWAYS = { from: new Date(0), to: new Date(Date.UTC(2100, 0, 1)) };
const at = (day: number, hour = 12) => Date.UTC(2026, 1, 20 + day, hour);

/** Tables, and a rollup over them; the clock of the tables is where `day` says. */
async function rollupTables(t: ExecutionContext, fresh: FreshDatabase) {
  const tables = await usageTables(t, fresh);
  const { database, clock, ids, pricing } = tables;
  const log = pino({ level: 'silent' });
  const leases = createLeases({ clock, ids, log, metrics: newMetrics(), store: createMemoryStore() });
  t.teardown(() => leases.close());
  let now = at(0);
  const rollup = createUsageRollup({ database, leases, clock: { now: () => now }, ids });
  return {
    ...tables,
    leases,
    rollup,
    async run(day: number, signal = new AbortController().signal) {
      now = at(day);
      await rollup.run(signal);
      return findThroughDay(database);
    },
    /** Writes a call of a moment. */
    async call(
      tenantId: string,
      moment: number,
      sessionId: string | undefined,
      use: Partial<ModelUse> = {},
      userId = 'ana',
    ) {
      const metering = createMetering({ pricing, clock: { ...systemClock, now: () => moment }, ids });
      const owner = { principal: { tenantId, identityId: 'k', userId }, source: 'chat', sessionId } as const;
      await metering.record(database.forTenant(tenantId), owner, [
        { ...modelUse(use), costUsd: '0.000001000001' },
      ]);
    },
  };
}

type Tables = Awaited<ReturnType<typeof rollupTables>>;

/** All reports of a period. */
async function reportsOf({ reports, database }: Tables, period: UsagePeriod) {
  return {
    days: await reports.ofTenant(database.forTenant(A), period, 'day'),
    months: await reports.ofTenant(database.forTenant(B), period, 'month'),
    all: await reports.ofAll(period, 'day'),
    tenants: await reports.byTenant([A, B], period),
  };
}

const RANGES = [0, 3, 7].flatMap((first) => [first, 8, 9, 12].map((last) => [first, last] as const));

/** Periods that begin and end within days, at their ends, and beyond all records. */
const PERIODS: readonly UsagePeriod[] = [
  ALWAYS,
  ...chosen('periods', RANGES, 4).flatMap(([first, last]) => [
    { from: new Date(at(first, 0)), to: new Date(at(last + 1, 0) - 1) },
    { from: new Date(at(first, 12)), to: new Date(at(last, 13)) },
    { from: new Date(at(first, 0) + 1), to: new Date(at(last + 1, 0) - 2) },
  ]),
];

/** Twelve days of calls, over the end of February: sessions of one day, of days in a row, and with gaps. */
async function fill({ call }: Tables): Promise<void> {
  for (let day = 0; day < 12; day += 1) {
    for (const tenant of [A, B]) {
      await call(tenant, at(day, 0), `day-${day}`);
      await call(tenant, at(day, 12), 'daily', { inputTokens: day, isEstimated: day % 2 === 0 });
      await call(tenant, at(day + 1, 0) - 1, day % 3 === 0 ? 'every-third' : undefined, {
        cacheReadTokens: 5,
      });
      if (day % 5 === 1) await call(tenant, at(day, 13), 'every-fifth');
    }
    await call(A, at(day, 6), `only-${day % 4}`);
  }
}

eachDatabase(test, 'reports say the same whether days are added up or not', async (t, fresh) => {
  const tables = await rollupTables(t, fresh);
  t.is(await tables.database.schemaDrift(), '');
  await fill(tables);
  const read = () => Promise.all(PERIODS.map((period) => reportsOf(tables, period)));
  const before = await read();
  t.log(`TEST_SEED=${SEED}`);
  t.is(before[0]?.tenants[0]?.requests, 12 * 4 + 3);
  t.is(before[0]?.tenants[0]?.sessions, 12 + 1 + 1 + 1 + 4);
  t.is(before[0]?.tenants[0]?.costUsd, '0.000051000051');
  for (const day of [4, 5, 12, 40]) {
    await tables.run(day);
    t.deepEqual(await read(), before, `after a run on day ${day}`);
  }
  const ofDays = await tables.database.forTenant(A).count(UsageDayRow);
  t.is(ofDays, 12);
});

eachDatabase(test, 'what is added up is not read from records again', async (t, fresh) => {
  const tables = await rollupTables(t, fresh);
  await fill(tables);
  await tables.run(40);
  const before = await reportsOf(tables, ALWAYS);
  await tables.database.system().nativeDelete(UsageRecordRow, {});
  t.deepEqual(await reportsOf(tables, ALWAYS), before);
});

eachDatabase(test, 'a day is added up when it has been over for a day', async (t, fresh) => {
  const { run, call, database } = await rollupTables(t, fresh);
  const days = async () =>
    (await database.forTenant(A).rows(UsageDayRow, {}, { orderBy: { day: 'asc' }, limit: 9 })).map(
      ({ day }) => day,
    );
  t.is(await run(0), '2026-02-18');
  for (const day of [0, 1, 5]) await call(A, at(day), 's');
  t.is(await run(1), '2026-02-19');
  t.deepEqual(await days(), []);
  t.is(await run(2), '2026-02-20');
  t.deepEqual(await days(), ['2026-02-20']);
  t.is(await run(6), '2026-02-24');
  t.deepEqual(await days(), ['2026-02-20', '2026-02-21']);
  t.is(await run(3), '2026-02-24', 'a clock that is behind takes nothing back');
  t.is(await run(7), '2026-02-25');
  t.deepEqual(await days(), ['2026-02-20', '2026-02-21', '2026-02-25']);
});

eachDatabase(test, 'after a clock that was ahead all days are added up anew', async (t, fresh) => {
  const tables = await rollupTables(t, fresh);
  await fill(tables);
  const before = await reportsOf(tables, ALWAYS);
  // What a start in another year leaves behind: no day until then was added up with its calls.
  await saveThroughDay(tables.database.system(), '2099-12-31');
  t.deepEqual((await reportsOf(tables, ALWAYS)).tenants[0]?.requests, 0);
  t.is(await tables.run(40), '2026-03-30');
  t.deepEqual(await reportsOf(tables, ALWAYS), before);
});

eachDatabase(test, 'an aborted run is gone on with, and one replica at a time adds up', async (t, fresh) => {
  const tables = await rollupTables(t, fresh);
  await fill(tables);
  const before = await reportsOf(tables, ALWAYS);
  t.is(await tables.run(40, AbortSignal.abort()), '');
  const lease = await tables.leases.tryAcquire('usage-rollup');
  if (typeof lease === 'string') throw new Error(lease);
  t.is(await tables.run(40), '', 'another replica is at it');
  await lease[Symbol.asyncDispose]();
  await Promise.all([tables.run(40), tables.run(40), tables.run(40)]);
  t.deepEqual(await reportsOf(tables, ALWAYS), before);
});

eachDatabase(
  test,
  'erased records leave reports at once, and their days are added up again',
  async (t, fresh) => {
    const tables = await rollupTables(t, fresh);
    const { database, ids, call, run } = tables;
    await fill(tables);
    for (const day of [2, 3, 9]) await call(A, at(day, 3), 'daily', {}, 'zoe');
    await call(A, at(4, 3), 'of-zoe', {}, 'zoe');
    const erase = () =>
      database.forTenant(A).transaction(async (entities) => {
        const erased = await entities.erase(UsageRecordRow, { userId: 'zoe' });
        if (erased > 0) await addUpAgain(entities, ids);
        return erased;
      });
    await run(40);
    const with_ = await reportsOf(tables, ALWAYS);
    t.is(await erase(), 4);
    const read = () => Promise.all(PERIODS.map((period) => reportsOf(tables, period)));
    const erased = await read();
    t.is(erased[0]?.tenants[0]?.requests, with_.tenants[0]!.requests - 4);
    t.is(erased[0]?.tenants[0]?.sessions, with_.tenants[0]!.sessions - 1);
    t.deepEqual(erased[0]?.tenants[1], with_.tenants[1]);
    const stop = new AbortController();
    const half = tables.database.transaction.bind(tables.database);
    let count = 0;
    tables.database.transaction = ((work: never, options: never) => {
      count += 1;
      if (count === 5) stop.abort();
      return half(work, options);
    }) as never;
    await run(40, stop.signal);
    t.deepEqual(await read(), erased, 'while some days are added up again');
    t.is(await database.forTenant(A).count(UsageResetRow), 1);
    tables.database.transaction = half;
    await run(40);
    t.is(await database.forTenant(A).count(UsageResetRow), 0);
    t.deepEqual(await read(), erased, 'when all are');
    await database.forTenant(A).erase(UsageRecordRow, {});
    await addUpAgain(database.forTenant(A), ids);
    t.deepEqual((await reportsOf(tables, ALWAYS)).days, []);
    await run(40);
    t.deepEqual((await reportsOf(tables, ALWAYS)).days, []);
    t.is(await database.forTenant(A).count(UsageDayRow), 0, 'nothing is left of who is erased');
  },
);

eachDatabase(
  test,
  'a record that comes after its day was added up is found with the next day',
  async (t, fresh) => {
    const tables = await rollupTables(t, fresh);
    const { call, run } = tables;
    await fill(tables);
    await run(9);
    const before = await reportsOf(tables, ALWAYS);
    await call(A, at(6, 1), 'daily');
    await call(B, at(5, 1), 'late');
    t.deepEqual(await reportsOf(tables, ALWAYS), before);
    await run(9);
    t.deepEqual(await reportsOf(tables, ALWAYS), before);
    await run(10);
    const [ofA, ofB] = (await reportsOf(tables, ALWAYS)).tenants;
    t.is(ofA?.requests, before.tenants[0]!.requests + 1);
    t.is(ofA?.sessions, before.tenants[0]!.sessions);
    t.is(ofB?.requests, before.tenants[1]!.requests + 1);
    t.is(ofB?.sessions, before.tenants[1]!.sessions + 1);
  },
);
