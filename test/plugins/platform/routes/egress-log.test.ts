import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';
import { type EgressGateway, startEgressGateway } from './egress-gateway.ts';

const LOG = '/admin/v1/egress/blocked-log';
const PATIENCE = 15_000;

interface BlockedEvent {
  readonly tenant_id: string;
  readonly host: string;
  readonly request_id: string;
  readonly created_at: string;
}

/** Has a request of a tenant denied, and waits until that is in the log. */
async function deny({ egress, request }: EgressGateway, tenant: string, url: string, requestId: string) {
  await egress.request(tenant, { url, requestId, userId: 'user-1' }).catch(() => {});
  await until(async () => {
    const { body } = await request(`${LOG}?limit=500`);
    return body.blocked_events.some((event: BlockedEvent) => event.request_id === requestId);
  }, PATIENCE);
}

eachGatewayDatabase(
  test,
  'a denied request is told with host, port and reason',
  async (t, { environment }) => {
    const gateway = await startEgressGateway(t, { env: environment });
    const { request } = gateway;
    await deny(gateway, DEFAULT_TENANT, 'http://169.254.169.254/latest/meta-data?token=confidential', 'one');
    await deny(gateway, DEFAULT_TENANT, 'https://localhost:8443/', 'two');
    const { status, body } = await request(LOG);
    t.is(status, 200);
    t.like(body, { total: 2, limit: 50, offset: 0 });
    const [{ id, created_at, ...newest }, oldest] = body.blocked_events;
    t.deepEqual(newest, {
      tenant_id: DEFAULT_TENANT,
      host: 'localhost',
      port: 8443,
      reason: 'name',
      user_id: 'user-1',
      request_id: 'two',
    });
    t.like(oldest, { host: '169.254.169.254', port: 80, reason: 'metadata', request_id: 'one' });
    t.regex(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.regex(id, /^[0-9a-f-]{36}$/);
    t.false(JSON.stringify(body).includes('confidential'));
    const audit = await request('/admin/v1/audit-logs?action=egress.denied');
    t.deepEqual(audit.body.audit_logs[1], {
      ...audit.body.audit_logs[1],
      id: oldest.id,
      status_code: 403,
      error_code: 'egress.denied',
    });
  },
);

test('it is narrowed by period and tenant, paged, and everything else of the audit log is left out', async (t) => {
  const gateway = await startEgressGateway(t);
  const { request } = gateway;
  const tenant = await gateway.tenant();
  await deny(gateway, DEFAULT_TENANT, 'http://10.0.0.1/', 'one');
  await deny(gateway, tenant, 'http://10.0.0.2/', 'two');
  const hosts = async (query: string) => {
    const { status, body } = await request(`${LOG}?${query}`);
    t.is(status, 200, query);
    return body.blocked_events.map(({ host }: BlockedEvent) => host);
  };
  t.deepEqual(await hosts(''), ['10.0.0.2', '10.0.0.1']);
  t.deepEqual(await hosts('limit=1&offset=1'), ['10.0.0.1']);
  t.deepEqual(await hosts(`tenant_id=${tenant}`), ['10.0.0.2']);
  t.deepEqual(await hosts('tenant_id=x'), []);
  t.deepEqual(
    await hosts('action=GET%20/v1/me'),
    ['10.0.0.2', '10.0.0.1'],
    'the action is not the caller’s to choose',
  );
  for (const query of ['q=nothing', 'q=', 'q=one&q=two']) {
    t.deepEqual(await hosts(query), ['10.0.0.2', '10.0.0.1'], `${query} is none of its parameters`);
  }
  const at = (await request(LOG)).body.blocked_events[1].created_at;
  t.true((await hosts(`from=${at}&to=${at}`)).includes('10.0.0.1'));
  t.deepEqual(await hosts(`to=${new Date(Date.parse(at) - 1).toISOString()}`), []);
  t.is((await request(`${LOG}?limit=9999`)).body.limit, 500);
  const bad = await request(`${LOG}?limit=-1&from=yesterday&to=x`);
  t.deepEqual(
    [bad.status, bad.body.errors.map(({ pointer }: { pointer: string }) => pointer)],
    [400, ['/query/limit', '/query/from', '/query/to']],
  );
  t.is((await request(`${LOG}?limit=-1`)).status, 400);
});

test('operators see all tenants, others their own; scopes decide who may look', async (t) => {
  const gateway = await startEgressGateway(t);
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  await deny(gateway, own, 'http://10.0.0.1/', 'own');
  await deny(gateway, foreign, 'http://10.0.0.2/', 'foreign');
  const seen = async (token: string, query = '') => {
    const { status, body } = await gateway.request(`${LOG}${query}`, { token });
    return status === 200 ? body.blocked_events.map(({ host }: BlockedEvent) => host) : status;
  };
  for (const settings of [
    { roles: ['auditor'] },
    { roles: ['security'] },
    { roles: ['owner'] },
    { scopes: ['audit:read'] },
    { scopes: ['security:read'] },
  ]) {
    const token = await gateway.key({ tenant_id: own, ...settings });
    t.deepEqual(await seen(token), ['10.0.0.1'], JSON.stringify(settings));
    t.deepEqual(await seen(token, `?tenant_id=${foreign}`), [], JSON.stringify(settings));
  }
  for (const settings of [
    { roles: ['admin'] },
    { roles: ['user', 'ops', 'billing', 'platform', 'tenant'] },
  ]) {
    t.is(await seen(await gateway.key({ tenant_id: own, ...settings })), 403, JSON.stringify(settings));
  }
  t.deepEqual(await seen(await gateway.key({ roles: ['auditor'] })), ['10.0.0.2', '10.0.0.1']);
  t.is((await gateway.request(LOG, { token: null })).status, 401);
});
