import test from 'ava';
import { TenantCreated } from '../../../foundation/tables/lifecycle-events.ts';
import type { Scope } from '../../../kernel/api/scope.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { settled, until } from '../../support/until.ts';

test('a plugin that is disabled for a while gets what happened meanwhile, once, and a reload loses nothing', async (t) => {
  const got: string[] = [];
  const crm = testPlugin('crm', {
    setup: (scope) => scope.subscribe(TenantCreated, async (_, { tenantId }) => void got.push(tenantId)),
  });
  await using gateway = await startTestGateway({ plugins: [crm] });
  const made: string[] = [];
  const make = async () => {
    made.push((await gateway.gateway.services.tenants.create({ name: 'x' })).id);
  };
  const change = async (verb: string) =>
    t.is((await gateway.request(`/admin/v1/plugins/crm/${verb}`, { method: 'POST' })).status, 200);
  const heardAll = () => until(() => made.every((id) => got.includes(id)));

  await make();
  await heardAll();
  const { body } = await gateway.request('/admin/v1/plugins/crm');
  t.deepEqual(body.effects.jobs, ['crm.on.kernel.tenant-created']);
  await change('disable');
  await make();
  const { body: waiting } = await gateway.request('/admin/v1/jobs?queue=crm.on.kernel.tenant-created');
  t.is(waiting.total, 1);
  t.is(waiting.jobs[0].payload.tenant_id, made[1]);
  await change('enable');
  await heardAll();
  await Promise.all([change('reload'), make(), make()]);
  await make();
  await heardAll();
  await settled(() => got.length);
  t.deepEqual(got.toSorted(), made.toSorted());
});

test('two subscriptions of a plugin to one event need a name', async (t) => {
  const got: string[] = [];
  const twice = (name?: string) => (scope: Scope) => {
    scope.subscribe(TenantCreated, async () => void got.push('first'));
    scope.subscribe(TenantCreated, async () => void got.push('second'), name === undefined ? {} : { name });
  };
  await using gateway = await startTestGateway({
    plugins: [testPlugin('same', { setup: twice() }), testPlugin('named', { setup: twice('mail') })],
  });
  const failed = await gateway.request('/admin/v1/plugins/same');
  t.is(failed.body.state, 'failed');
  t.regex(failed.body.reason, /same subscribes to kernel.tenant-created twice: name one of the two/);
  await gateway.gateway.services.tenants.create({ name: 'x' });
  await until(() => got.length === 2);
  t.deepEqual(got.toSorted(), ['first', 'second']);
});
