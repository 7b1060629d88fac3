import test from 'ava';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_TENANT, startPlatform } from '../platform-gateway.ts';

/** Milliseconds in which a sweep comes, among hundreds of other tests of the process. */
const PATIENCE_MS = 60_000;

const NOBODY = '01900000-0000-7000-8000-000000000000';
/** Before the time of the database: what is old has to be so by both clocks. */
const NOW = Date.UTC(2020, 0, 1);
const DAY_MS = 86_400_000;
const KINDS = [
  'agent_checkpoints',
  'api_keys',
  'execution_receipts',
  'session_messages',
  'sessions',
  'usage_records',
];
const pathOf = (tenant: string, kind = '') =>
  `/admin/v1/tenants/${tenant}/retention${kind === '' ? '' : `/${kind}`}`;

interface Rule {
  readonly kind: string;
  readonly keep: string;
  readonly source: string;
  readonly deletes_from: string | null;
}

/** What of the rules is not as it comes. */
const decided = (rules: readonly Rule[]) =>
  rules
    .filter(({ source }) => source !== 'default')
    .map(({ kind, keep, source, deletes_from }) => [kind, keep, source, deletes_from]);

eachGatewayDatabase(test, 'a tenant decides how long its records are kept', async (t, { environment }) => {
  const env = { ...environment, SVC_RETENTION: 'sessions=90d,usage_records=36h,comets=1d' };
  const clock = manualClock(NOW);
  const gateway = await startPlatform(t, { env, clock });
  const { request } = gateway;
  const tenant = await gateway.tenant();
  const { body } = await request('/admin/v1/retention');
  t.deepEqual(
    body.retention.map(({ kind }: Rule) => kind),
    KINDS,
  );
  const deployment = [
    ['sessions', '90d', 'deployment', null],
    ['usage_records', '36h', 'deployment', null],
  ];
  t.deepEqual(decided(body.retention), deployment);
  t.like(body.retention[0], { keep: 'forever', source: 'default', deletes_from: null });
  t.true(body.retention.every(({ summary }: { summary: string }) => /^[A-Z].*[^.]$/.test(summary)));
  t.deepEqual(decided((await request(pathOf(tenant))).body.retention), deployment);

  const put = (kind: string, keep: string) =>
    request(pathOf(tenant, kind), { method: 'PUT', body: { keep } });
  const set = await put('sessions', '720h');
  const deletes_from = '2020-01-02T00:00:00.000Z';
  t.is(set.status, 200);
  t.like(set.body, { tenant_id: tenant, kind: 'sessions', keep: '30d', source: 'tenant', deletes_from });
  t.like((await put('usage_records', 'forever')).body, { keep: 'forever', deletes_from: null });
  t.like((await put('sessions', '48h')).body, { keep: '2d', deletes_from }, 'over the rule that was there');
  t.deepEqual(decided((await request(pathOf(tenant))).body.retention), [
    ['sessions', '2d', 'tenant', deletes_from],
    ['usage_records', 'forever', 'tenant', null],
  ]);
  t.deepEqual(decided((await request(pathOf(DEFAULT_TENANT))).body.retention), deployment);

  clock.advance(DAY_MS / 2);
  t.like((await put('sessions', '2d')).body, { keep: '2d', deletes_from }, 'the same again waits no longer');
  const later = '2020-01-02T12:00:00.000Z';
  t.like((await put('sessions', '1d')).body, { keep: '1d', deletes_from: later }, 'another rule waits anew');

  t.is((await request(pathOf(tenant, 'sessions'), { method: 'DELETE' })).status, 204);
  const again = await request(pathOf(tenant, 'sessions'), { method: 'DELETE' });
  t.deepEqual([again.status, again.body.code], [404, 'retention.not-found']);
  t.deepEqual(decided((await request(pathOf(tenant))).body.retention)[0], deployment[0]);
});

test('what is wrong with a rule is told by its field, and nobody reaches a foreign tenant', async (t) => {
  const gateway = await startPlatform(t);
  const { request } = gateway;
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  for (const body of [
    { keep: '59m' },
    { keep: '36501d' },
    { keep: 'soon' },
    { keep: 30 },
    { keep: null },
    {},
  ]) {
    const { status, body: problem } = await request(pathOf(own, 'sessions'), { method: 'PUT', body });
    t.is(status, 400, JSON.stringify(body));
    t.regex(problem.errors[0].pointer, /^\/body(\/keep)?$/);
  }
  const misspelt = await request(pathOf(own, 'sessions'), { method: 'PUT', body: { keep: '1d', keeps: 1 } });
  t.is(misspelt.status, 400);
  const all = await request(pathOf(own, 'sessions'), {
    method: 'PUT',
    body: { keep: 'soon', keeps: 1, kind: 2 },
  });
  t.deepEqual(all.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted(), [
    '/body/keep',
    '/body/keeps',
    '/body/kind',
  ]);
  const query = await request('/admin/v1/retention/sessions/preview?keep=1x');
  t.deepEqual([query.status, query.body.errors[0].pointer], [400, '/query/keep']);
  t.is((await request('/admin/v1/retention/sessions/preview')).status, 400);
  const both = await request('/admin/v1/retention/sessions/preview?limit=-1&keep=1x');
  t.deepEqual(
    both.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/query/limit', '/query/keep'],
  );
  for (const path of [pathOf(own, 'comets'), pathOf(own, 'retention_rules')]) {
    const { status, body } = await request(path, { method: 'PUT', body: { keep: '1d' } });
    t.deepEqual([status, body.code], [404, 'retention.unknown-kind']);
    t.regex(body.detail, /usage_records/);
  }
  t.is((await request('/admin/v1/retention/comets/preview?keep=1d')).status, 404);

  const { key: token } = await gateway.key({ tenant_id: own, roles: ['tenant'] });
  const statusOf = async (tenant: string, method: string, path = pathOf(tenant, 'sessions')) => {
    const body = method === 'PUT' ? { body: { keep: '1d' } } : {};
    return (await request(path, { method, token, ...body })).status;
  };
  t.deepEqual([await statusOf(own, 'PUT'), await statusOf(own, 'DELETE')], [200, 204]);
  t.is(await statusOf(own, 'GET', pathOf(own)), 200);
  for (const tenant of [foreign, NOBODY, 'x']) {
    t.deepEqual([await statusOf(tenant, 'PUT'), await statusOf(tenant, 'DELETE')], [404, 404]);
    t.is(await statusOf(tenant, 'GET', pathOf(tenant)), 404);
  }
  const { key: reader } = await gateway.key({ tenant_id: own, roles: ['auditor'] });
  t.is((await request(pathOf(own), { token: reader })).status, 403);
  await request(`/v1/tenants/${own}`, { method: 'DELETE' });
  const deleted = await request(pathOf(own, 'sessions'), { method: 'PUT', body: { keep: '1d' } });
  t.deepEqual([deleted.status, deleted.body.code], [409, 'tenant.deleted']);
});

eachGatewayDatabase(test, 'what a rule would delete is shown before', async (t, { environment }) => {
  t.timeout(2 * PATIENCE_MS + 30_000);
  const clock = manualClock(NOW);
  const env = { ...environment, SVC_RETENTION_INTERVAL: '100ms', SVC_RETENTION_GRACE: '0s' };
  const gateway = await startPlatform(t, { env, clock });
  const { request } = gateway;
  const one = await gateway.tenant('one');
  clock.advance(1);
  const two = await gateway.tenant('two');
  const { key: token } = await gateway.key({ tenant_id: one, roles: ['user', 'tenant'] });
  const metrics = async () => (await fetch(`${gateway.url}/metrics`)).text();
  const chat = (session: string) =>
    request('/v1/agent/chat', {
      method: 'POST',
      token,
      headers: { 'x-svc-session-id': session },
      body: { model: 'demo', messages: [{ role: 'user', content: 'hi' }] },
    });
  t.is((await chat('s1')).status, 200);
  clock.advance(10 * DAY_MS);
  t.is((await chat('s2')).status, 200);
  const preview = async (query: string, as?: string) =>
    (await request(`/admin/v1/retention/sessions/preview?${query}`, as === undefined ? {} : { token: as }))
      .body;
  t.deepEqual(await preview(`keep=5d&tenant_id=${one}`), {
    kind: 'sessions',
    keep: '5d',
    tenants: [{ tenant_id: one, records: 2, expired: 1 }],
    total: 1,
    limit: 20,
    offset: 0,
  });
  // Newest first: the default tenant has the time of the database.
  t.like(await preview('keep=forever&limit=2&offset=1'), {
    tenants: [
      { tenant_id: two, records: 0, expired: 0 },
      { tenant_id: one, records: 2, expired: 0 },
    ],
    total: 3,
    limit: 2,
  });
  t.is((await preview('keep=1d&limit=5000')).limit, 100);
  t.deepEqual((await preview('keep=1h', token)).tenants, [{ tenant_id: one, records: 2, expired: 1 }]);
  t.like(await preview(`keep=1h&tenant_id=${two}`, token), { tenants: [], total: 0 });

  await request(pathOf(one, 'sessions'), { method: 'PUT', body: { keep: '5d' } });
  let step = 100;
  const shows = (series: string) =>
    until(async () => {
      // The next sweep is due by the database's clock, which on SQLite is this one. Records are counted again after a
      // thousand times what the last count took by it: steps that grow get there, however many of them a slow count has
      // seen.
      clock.advance(step);
      step = Math.min(step * 1.2, 20_000);
      return (await metrics()).includes(`\n${series}\n`);
    }, PATIENCE_MS);
  await shows('svc_retention_deleted_total{kind="sessions"} 1');
  await shows(`svc_retained_records{kind="sessions",tenant_id="${one}"} 1`);
  const sessions = (await request('/v1/sessions', { token })).body.sessions as readonly {
    readonly id: string;
  }[];
  t.deepEqual(
    sessions.map(({ id }) => id),
    ['s2'],
  );
});

test('a setting that makes no sense stops the start and is named', async (t) => {
  await t.throwsAsync(startPlatform(t, { env: { SVC_RETENTION: 'sessions=90x' } }), {
    message: /SVC_RETENTION/,
  });
});

test('a kind that no plugin keeps is in the log after the start, with those that there are', async (t) => {
  const gateway = await startPlatform(t, { env: { SVC_RETENTION: 'session=90d' } });
  const lines = () => gateway.logs().filter((line) => line.includes('names records that no plugin keeps'));
  await until(() => lines().length > 0);
  t.like(JSON.parse(lines()[0]!), { unknown: ['session'], known: KINDS });
});
