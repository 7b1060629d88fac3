import test from 'ava';
import { UsageRecordRow } from '../../../../../plugins/records/store/usage.ts';
import { addUpDay, saveThroughDay } from '../../../../../plugins/records/store/usage-days.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { isWhole } from '../../../../support/sample.ts';
import { A, modelUse, usageTables } from './usage-tables.ts';

const RECORDS = isWhole ? 1_000_000 : 100_000;
const BATCH = 1000;
const ALWAYS = { from: new Date(0), to: new Date(Date.UTC(2100, 0, 1)) };

// One after the other: the rows of SQLite are written without a pause in which a connection to a server could be made.
eachDatabase(test.serial, 'a million calls of a millionth of a dollar cost one dollar', async (t, fresh) => {
  t.timeout(10 * 60_000);
  const { metering, pricing, reports, database, clock } = await usageTables(t, fresh);
  // One token of a thousand that cost a tenth of a cent.
  await pricing.replace('gpt-x', {
    inputPer1k: 0.001,
    outputPer1k: 0,
    cacheReadPer1k: null,
    cacheWritePer1k: null,
  });
  const [priced] = await metering.price([modelUse({ inputTokens: 1, outputTokens: 0 })]);
  t.is(priced?.costUsd, '0.000001');
  const owner = {
    principal: { tenantId: A, identityId: 'k', userId: 'u' },
    sessionId: 's',
    source: 'chat',
  } as const;
  const calls = Array.from({ length: BATCH }, () => priced!);
  for (let written = 0; written < RECORDS; written += BATCH) {
    await metering.record(database.forTenant(A), owner, calls);
    if (written === RECORDS / 2) clock.advance(1000);
  }
  t.is(await database.forTenant(A).count(UsageRecordRow), RECORDS);
  const dollars = String(RECORDS / 1_000_000);
  const read = async () => {
    const days = await reports.ofTenant(database.forTenant(A), ALWAYS, 'day');
    t.deepEqual(
      days.map(({ date }) => date),
      ['2026-03-31', '2026-04-01'],
    );
    const [tenant] = await reports.byTenant([A], ALWAYS);
    t.like(tenant, { costUsd: dollars, requests: RECORDS, sessions: 1, inputTokens: RECORDS });
    const months = await reports.ofAll(ALWAYS, 'month');
    t.is(
      months.reduce((sum, { costUsd }) => sum + Number(costUsd) * 1_000_000, 0),
      RECORDS,
    );
    return [days, months, tenant];
  };
  const ofRecords = await read();
  await database.transaction(async (em) => {
    for (const day of ['2026-03-31', '2026-04-01']) await addUpDay(em, day);
    await saveThroughDay(em, '2026-04-30');
  });
  t.deepEqual(await read(), ofRecords);
});
