import test, { type ExecutionContext, type TestFn } from 'ava';
import { createUsageRollup } from '../../../../plugins/records/services/metering/usage-rollup.ts';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { startEngineGateway } from './engine-gateway.ts';

/** Half an hour off, and the first of all: a day here is two days there. */
const ZONES = ['America/St_Johns', 'Pacific/Kiritimati'] as const;

/** When calls were made, each a token dearer than the one before. */
const MOMENTS = [
  '2025-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  // Clocks are put forward in St. John's, and in Europe.
  '2026-03-08T03:30:00.000Z',
  '2026-03-29T01:30:00.000Z',
  '2026-03-31T00:00:00.000Z',
  '2026-03-31T23:59:59.999Z',
  '2026-04-01T00:00:00.000Z',
  '2026-04-30T23:59:59.999Z',
  '2026-05-01T00:00:00.000Z',
] as const;

const EVER = 'from=2025-01-01&to=2026-12-31';

/**
 * Queries, and the first and the last of the calls that they find. Both ends belong to a period; a date as its end
 * means the last millisecond of that day.
 */
const PERIODS: readonly (readonly [query: string, first: number, last: number])[] = [
  [EVER, 0, 10],
  ['from=2026-01-01&to=2026-03-31', 1, 7],
  ['from=2026-02-28&to=2026-02-28', 2, 2],
  ['from=2026-03-01&to=2026-03-31', 3, 7],
  ['from=2026-03-31&to=2026-03-31', 6, 7],
  ['from=2026-04-01&to=2026-04-30', 8, 9],
  ['from=2026-02-28T23:59:59.999Z&to=2026-03-01T00:00:00Z', 2, 3],
  ['from=2026-03-01T00:00:00.001Z&to=2026-03-31T23:59:59.998Z', 4, 6],
  // Midnight in Kiritimati, noon in St. John's, and an offset that was not percent-encoded.
  ['from=2026-03-01T14:00:00%2B14:00&to=2026-04-01T13:59:59.999%2B14:00', 3, 7],
  ['from=2026-02-28T21:30:00-02:30&to=2026-03-31T21:29:59.999-02:30', 3, 7],
  ['from=2026-03-01T01:00:00+01:00&to=2026-03-31T02:00:00+02:00', 3, 6],
];

const day = (moment: string) => moment.slice(0, 10);
const month = (moment: string) => moment.slice(0, 7);

/** Gives the process a zone for the time of a test. */
function takeZone(t: ExecutionContext, zone: string): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  t.teardown(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });
}

for (const zone of ZONES) {
  eachGatewayDatabase(
    test.serial as TestFn,
    `days and months are those of UTC in ${zone}`,
    async (t, fresh) => {
      takeZone(t, zone);
      t.not(new Date(0).getTimezoneOffset(), 0);
      if (fresh.family === 'postgres') {
        const [{ name }] = (await fresh.ask('select current_database() as name')) as [{ name: string }];
        await fresh.ask(`alter database ${name} set timezone to '${zone}'`);
        await fresh.ask(`alter database ${name} set datestyle to 'SQL, DMY'`);
        t.like(await fresh.ask(`select current_setting('timezone') as zone`), [{ zone }]);
      }
      const clock = manualClock(Date.parse(MOMENTS[0]));
      const gateway = await startEngineGateway(t, { env: fresh.environment, clock });
      const { database, leases, ids } = gateway.gateway.services;
      if (fresh.family === 'mysql') {
        const [row] = await database.system().execute('select @@session.time_zone as zone');
        t.deepEqual(row, { zone: '+00:00' }, 'whatever the zone of the server is');
      }
      const tenant = await gateway.tenant();
      const { token } = await gateway.key({ tenant_id: tenant, roles: ['user', 'admin', 'billing'] });
      for (const [index, moment] of MOMENTS.entries()) {
        clock.advance(Date.parse(moment) - clock.now());
        const principal = { tenantId: tenant, identityId: 'k', userId: 'ana' };
        const use = {
          model: 'fast',
          provider: 'openai',
          providerModel: 'gpt-x',
          isEstimated: false,
          costUsd: '0.1',
          inputTokens: 2 ** index,
          outputTokens: 0,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
        };
        const owner = { principal, sessionId: 's1', source: 'chat' } as const;
        await gateway.metering.record(database.forTenant(tenant), owner, [use]);
      }
      const get = async (path: string) => (await gateway.request(path, { token })).body;

      const { records } = await get('/v1/usage/details?session_id=s1');
      t.deepEqual(
        records.map(({ created_at }: { created_at: string }) => created_at),
        MOMENTS.toReversed(),
      );
      const check = async () => {
        for (const [query, first, last] of PERIODS) {
          const found = MOMENTS.slice(first, last + 1);
          const tokens = (of: (moment: string) => string, date: string) =>
            found.reduce((sum, moment, index) => sum + (of(moment) === date ? 2 ** (first + index) : 0), 0);
          for (const [path, granularity, of] of [
            ['/v1/usage', 'day', day],
            ['/v1/usage', 'month', month],
            ['/admin/v1/usage', 'daily', day],
            ['/admin/v1/usage', 'monthly', month],
          ] as const) {
            const { data } = await get(`${path}?${query}&granularity=${granularity}`);
            t.deepEqual(
              data.map(({ date, input_tokens }: { date: string; input_tokens: number }) => [
                date,
                input_tokens,
              ]),
              [...new Set(found.map(of))].map((date) => [date, tokens(of, date)]),
              `${path}?${query}&granularity=${granularity}`,
            );
          }
          const { tenants } = await get(`/admin/v1/usage/tenants?${query}`);
          t.like(tenants[0], { requests: found.length, sessions: 1 }, query);
        }
      };
      await check();
      clock.advance(40 * 24 * 60 * 60 * 1000);
      await createUsageRollup({ database, leases, clock, ids }).run(new AbortController().signal);
      await check();
    },
  );
}

test.serial('without a period a report begins with the day that was 30 days ago', async (t) => {
  takeZone(t, 'Pacific/Kiritimati');
  const clock = manualClock(Date.parse('2026-03-01T00:00:00Z'));
  const gateway = await startEngineGateway(t, { clock });
  const cases = [
    ['2026-03-01T00:00:00.000Z', '2026-01-30'],
    ['2026-03-30T23:59:59.999Z', '2026-02-28'],
    ['2026-03-31T00:00:00.000Z', '2026-03-01'],
    ['2026-03-31T23:59:59.999Z', '2026-03-01'],
    ['2028-03-30T12:00:00.000Z', '2028-02-29'],
    ['2028-12-31T12:00:00.000Z', '2028-12-01'],
  ] as const;
  for (const [now, first] of cases) {
    clock.advance(Date.parse(now) - clock.now());
    for (const path of ['/v1/usage', '/admin/v1/usage', '/admin/v1/usage/tenants']) {
      const { period } = (await gateway.request(path)).body;
      t.deepEqual(period, { from: `${first}T00:00:00.000Z`, to: now }, path);
    }
  }
});
