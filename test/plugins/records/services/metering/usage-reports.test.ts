import test from 'ava';
import { eachDatabase } from '../../../../support/databases.ts';
import { A, B, modelUse, usageTables } from './usage-tables.ts';

const ALWAYS = { from: new Date(0), to: new Date(Date.UTC(2100, 0, 1)) };
const PAGE = { limit: 50, offset: 0 };
const PRICES = { inputPer1k: 0.1, outputPer1k: 0.2, cacheReadPer1k: null, cacheWritePer1k: null };

eachDatabase(test, 'a record is one row for each call, read as it was written', async (t, fresh) => {
  const { spend, reports, pricing, database, clock } = await usageTables(t, fresh);
  t.is(await database.schemaDrift(), '');
  await pricing.replace('gpt-x', PRICES);
  const use = modelUse({ inputTokens: 1, outputTokens: 7, cacheReadTokens: 1, isEstimated: true });
  const span = {
    requestId: 'r1',
    traceId: null,
    status: 'success' as const,
    startedAt: new Date(clock.now() - 40),
    durationMs: 40,
  };
  await spend(A, [{ ...use, span }, modelUse({ model: 'odd\0name', providerModel: 'x'.repeat(999) })], {
    source: 'agent',
  });
  const { records, total } = await reports.calls(database.forTenant(A), { sessionId: 's1' }, {}, PAGE);
  t.is(total, 2);
  const { id, ...record } = records.find(({ model }) => model === 'fast')!;
  t.regex(id, /^[0-9a-f-]{36}$/);
  t.deepEqual(record, {
    ...use,
    sessionId: 's1',
    userId: 'key-1',
    identityId: 'key-1',
    source: 'agent',
    costUsd: '0.0015',
    createdAt: new Date(clock.now()),
    ...span,
  });
  t.like(
    records.find(({ model }) => model === 'odd\ufffdname'),
    {
      providerModel: 'x'.repeat(255),
      costUsd: '0',
      requestId: null,
      traceId: null,
      startedAt: null,
      durationMs: null,
      status: null,
    },
  );
  const ofRequest = async (of: { sessionId?: string; requestId: string }) =>
    (await reports.calls(database.forTenant(A), of, {}, PAGE)).records.map((one) => one.id);
  t.deepEqual(await ofRequest({ requestId: 'r1' }), [id]);
  t.deepEqual(await ofRequest({ requestId: 'r1', sessionId: 's1' }), [id]);
  t.deepEqual(await ofRequest({ requestId: 'r1', sessionId: 's2' }), []);
  t.deepEqual(await ofRequest({ requestId: 'r2' }), []);
});

eachDatabase(test, 'usage is rolled back with the turn that it belongs to', async (t, fresh) => {
  const { metering, reports, database } = await usageTables(t, fresh);
  const priced = await metering.price([modelUse()]);
  const owner = { principal: { tenantId: A, identityId: 'k', userId: 'u' }, source: 'chat' } as const;
  const failing = database.forTenant(A).transaction(async (entities) => {
    await metering.record(entities, owner, priced);
    throw new Error('the turn fails');
  });
  await t.throwsAsync(failing, { message: 'the turn fails' });
  t.deepEqual(await reports.ofTenant(database.forTenant(A), ALWAYS, 'day'), []);
  await metering.record(database.forTenant(A), owner, []);
  await metering.record(database.forTenant(A), owner, priced);
  t.like(await reports.ofTenant(database.forTenant(A), ALWAYS, 'day'), [{ requests: 1 }]);
});

eachDatabase(test, "days and months are added up by UTC, each tenant's for itself", async (t, fresh) => {
  const { spend, reports, pricing, database, clock } = await usageTables(t, fresh);
  await pricing.replace('gpt-x', PRICES);
  await spend(A, [modelUse(), modelUse({ cacheReadTokens: 300, cacheWriteTokens: 50 })]);
  clock.advance(499);
  await spend(A, [modelUse({ isEstimated: true })]);
  clock.advance(1);
  await spend(A, [modelUse({ inputTokens: 1, outputTokens: 0 })]);
  await spend(B, [modelUse({ inputTokens: 5, outputTokens: 0 })], { sessionId: undefined });
  const ofA = database.forTenant(A);
  const march = {
    inputTokens: 3000,
    outputTokens: 300,
    cacheReadTokens: 300,
    cacheWriteTokens: 50,
    costUsd: '0.36',
    requests: 3,
    estimatedRequests: 1,
  };
  const april = {
    inputTokens: 1,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: '0.0001',
    requests: 1,
    estimatedRequests: 0,
  };
  const day = (date: string, totals: object) => ({ date, ...totals });
  t.deepEqual(await reports.ofTenant(ofA, ALWAYS, 'day'), [
    day('2026-03-31', march),
    day('2026-04-01', april),
  ] as never);
  t.deepEqual(await reports.ofTenant(ofA, ALWAYS, 'month'), [
    day('2026-03', march),
    day('2026-04', april),
  ] as never);
  const both = { ...april, inputTokens: 6, costUsd: '0.0006', requests: 2 };
  t.deepEqual(await reports.ofAll(ALWAYS, 'day'), [
    day('2026-03-31', march),
    day('2026-04-01', both),
  ] as never);
  t.deepEqual(await reports.ofAll(ALWAYS, 'month'), [day('2026-03', march), day('2026-04', both)] as never);
  const none = { ...april, inputTokens: 0, costUsd: '0', requests: 0 };
  t.deepEqual(await reports.byTenant([B, '01900000-0000-7000-8000-00000000000c', A], ALWAYS), [
    { tenantId: B, sessions: 0, ...april, inputTokens: 5, costUsd: '0.0005' },
    { tenantId: '01900000-0000-7000-8000-00000000000c', sessions: 0, ...none },
    { tenantId: A, sessions: 1, ...march, inputTokens: 3001, costUsd: '0.3601', requests: 4 },
  ]);
  t.deepEqual(await reports.byTenant([], ALWAYS), []);
});

eachDatabase(test, 'both ends of a period belong to it, to the millisecond', async (t, fresh) => {
  const { spend, reports, database, clock } = await usageTables(t, fresh);
  const first = clock.now();
  for (let call = 0; call < 3; call += 1) {
    await spend(A, [modelUse()], { sessionId: `s${call}` });
    clock.advance(250);
  }
  const requests = async (from: number, to: number) => {
    const period = { from: new Date(from), to: new Date(to) };
    const [ofTenant, ofAll] = [
      await reports.ofTenant(database.forTenant(A), period, 'month'),
      await reports.ofAll(period, 'month'),
    ];
    t.deepEqual(ofTenant, ofAll);
    const [tenant] = await reports.byTenant([A], period);
    const counted = ofAll.reduce((sum, row) => sum + row.requests, 0);
    t.is(tenant?.sessions, counted);
    t.is(tenant?.requests, counted);
    return counted;
  };
  t.is(await requests(first, first + 500), 3);
  t.is(await requests(first, first + 499), 2);
  t.is(await requests(first + 1, first + 500), 2);
  t.is(await requests(first + 250, first + 250), 1);
  t.is(await requests(first + 501, first + 9999), 0);
  const farAway = 8.64e15;
  t.is(await requests(-farAway, farAway), 3, 'years that no database knows');
  t.is(await requests(-farAway, -farAway), 0);
  t.is(await requests(farAway, farAway), 0);
});

eachDatabase(test, 'sums are exact where floating point is not', async (t, fresh) => {
  const { spend, reports, pricing, database } = await usageTables(t, fresh);
  await pricing.replace('cents', { ...PRICES, inputPer1k: 0.1 });
  await pricing.replace('tiny', { ...PRICES, inputPer1k: 0.000000001 });
  await pricing.replace('huge', { ...PRICES, inputPer1k: 1_000_000 });
  const call = (providerModel: string, inputTokens: number) =>
    modelUse({ providerModel, inputTokens, outputTokens: 0 });
  await spend(
    A,
    Array.from({ length: 3 }, () => call('cents', 1000)),
  );
  const [row] = await reports.ofTenant(database.forTenant(A), ALWAYS, 'day');
  t.is(row?.costUsd, '0.3', 'not 0.30000000000000004');
  // Leftovers of more than a millionth, beside more than a double can tell apart.
  await spend(A, [call('huge', 1_000_000)]);
  await spend(
    A,
    Array.from({ length: 50 }, () => call('tiny', 999_999)),
  );
  await spend(A, [call('tiny', 1)]);
  const expected = '1000000000.300049999951';
  t.is((await reports.ofTenant(database.forTenant(A), ALWAYS, 'month'))[0]?.costUsd, expected);
  t.is((await reports.ofAll(ALWAYS, 'day'))[0]?.costUsd, expected);
  t.is((await reports.byTenant([A], ALWAYS))[0]?.costUsd, expected);
});

eachDatabase(test, 'turns that commit at one time are all counted', async (t, fresh) => {
  const { spend, reports, pricing, database } = await usageTables(t, fresh);
  await pricing.replace('fast', PRICES);
  await Promise.all(
    Array.from({ length: 30 }, (_, index) => spend(index % 3 === 0 ? B : A, [modelUse(), modelUse()])),
  );
  t.like(await reports.ofTenant(database.forTenant(A), ALWAYS, 'day'), [{ requests: 40, costUsd: '4.8' }]);
  t.like(await reports.ofAll(ALWAYS, 'day'), [{ requests: 60, costUsd: '7.2' }]);
});

eachDatabase(test, 'the calls of a session are those of its tenant and of who asks', async (t, fresh) => {
  const { spend, reports, database, clock } = await usageTables(t, fresh);
  const of = (identityId: string, userId: string) => ({
    principal: { tenantId: A, identityId, userId },
    sessionId: 's1',
  });
  for (const owner of [of('k1', 'u1'), of('k1', 'u2'), of('k2', 'u1')]) {
    clock.advance(1);
    await spend(A, [modelUse()], owner);
  }
  await spend(A, [modelUse()], { sessionId: 's2' });
  await spend(B, [modelUse()]);
  const found = async (session: string, reader: object, page = PAGE) => {
    const { records, total } = await reports.calls(
      database.forTenant(A),
      { sessionId: session },
      reader,
      page,
    );
    return [records.map(({ identityId, userId }) => `${identityId}/${userId}`), total];
  };
  t.deepEqual(await found('s1', {}), [['k2/u1', 'k1/u2', 'k1/u1'], 3]);
  t.deepEqual(await found('s1', {}, { limit: 1, offset: 1 }), [['k1/u2'], 3]);
  t.deepEqual(await found('s1', { identityId: 'k1' }), [['k1/u2', 'k1/u1'], 2]);
  t.deepEqual(await found('s1', { identityId: 'k1', userId: 'u2' }), [['k1/u2'], 1]);
  const long = 'x'.repeat(300);
  await spend(A, [modelUse()], of('k3', `${long}1`));
  t.is((await found('s1', { identityId: 'k3', userId: `${long}1` }))[1], 1);
  t.is((await found('s1', { identityId: 'k3', userId: `${long}2` }))[1], 0, 'nobody else of a long name');
  t.deepEqual(await found('nothing', {}), [[], 0]);
  t.deepEqual(await found('\0', {}), [[], 0]);
});
