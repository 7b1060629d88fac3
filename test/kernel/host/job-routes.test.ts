import test from 'ava';
import Type from 'typebox';
import { defineJob } from '../../../foundation/messages/jobs/jobs.ts';
import { access } from '../../../kernel/api/access.ts';
import { definePlugin } from '../../../kernel/api/plugin.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway } from '../../../testing/start-test-gateway.ts';
import { FAMILIES, freshDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';

const Charge = defineJob(
  'billing.charge',
  Type.Object({ invoice: Type.Integer(), api_key: Type.Optional(Type.String()) }),
  { attempts: 2, backoff: { first: 1, most: 1 } },
);

for (const family of FAMILIES) {
  test(`${family}: a plugin's job fails for good, the operator sees and retries it`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    let isOpen = false;
    const done: unknown[] = [];
    const billing = definePlugin({
      name: 'billing',
      summary: 'charges',
      kernel: '^1.0.0',
      jobs: [Charge],
      setup(scope) {
        const { jobs } = scope.services;
        scope.worker(Charge, async ({ invoice }, { tenantId }) => {
          if (!isOpen) throw new Error('the bank is closed');
          done.push([invoice, tenantId]);
        });
        scope.route(
          route({
            method: 'POST',
            path: '/v1/invoices',
            access: access.role('user'),
            summary: 'Charge',
            schema: { responses: { 200: Type.Any() } },
            handle: async (call) => ({
              id: await call
                .entities()
                .transaction((entities) =>
                  jobs.publish(entities, Charge, { invoice: 7, api_key: 'hk_secretsecretsecret' }),
                ),
            }),
          }),
        );
      },
    });
    await using gateway = await startTestGateway({ plugins: [billing], env: fresh.environment });
    const tenant = await gateway.makeTenant();
    const { body: published } = await gateway.request('/v1/invoices', {
      method: 'POST',
      token: tenant.token,
    });
    const { id } = published as { id: string };
    const path = `/admin/v1/jobs/${id}`;
    await until(async () => ((await gateway.request(path)).body as { state?: string }).state === 'dead');
    const { body: job } = await gateway.request(path);
    t.like(job, {
      id,
      queue: 'billing.charge',
      tenant_id: tenant.id,
      attempt: 2,
      max_attempts: 2,
      error: 'the bank is closed',
    });
    t.false(JSON.stringify(job).includes('secretsecret'));
    const list = (query: string) => gateway.request(`/admin/v1/jobs?${query}`);
    t.like((await list(`queue=billing.charge&state=dead&tenant_id=${tenant.id}`)).body, { total: 1 });
    t.deepEqual((await list('state=waiting')).body, { jobs: [], total: 0, limit: 50, offset: 0 });
    t.is((await list('state=lost')).status, 400);
    t.is((await gateway.request(path, { token: tenant.token })).status, 403);
    t.is((await gateway.request(path, { method: 'DELETE', token: tenant.token })).status, 403);
    const metrics = await gateway.request('/metrics');
    t.regex(String(metrics.body), /svc_jobs_dead_total\{queue="billing.charge"\} 1/);
    isOpen = true;
    t.is((await gateway.request(`${path}/retry`, { method: 'POST' })).status, 200);
    await until(() => done.length === 1);
    t.deepEqual(done, [[7, tenant.id]]);
    await until(async () => (await gateway.request(path)).status === 404);
    t.is((await gateway.request(`${path}/retry`, { method: 'POST' })).status, 404);
    t.is((await gateway.request(path, { method: 'DELETE' })).status, 404);
    const { body: plugin } = await gateway.request('/admin/v1/plugins/billing');
    t.deepEqual((plugin as { effects: { jobs: string[] } }).effects.jobs, ['billing.charge']);
  });
}

test('a plugin that lists a job and gives it no worker does not start', async (t) => {
  const idle = definePlugin({
    name: 'idle',
    summary: 'idle',
    kernel: '^1.0.0',
    jobs: [Charge],
    setup: () => {},
  });
  await using gateway = await startTestGateway({ plugins: [idle] });
  const { body } = await gateway.request('/admin/v1/plugins/idle');
  t.like(body, { state: 'failed' });
  t.regex(JSON.stringify(body), /lists the job billing.charge but has no worker/);
});
