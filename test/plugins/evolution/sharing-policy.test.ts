import { definePlugin } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import {
  effectiveMode,
  SHARING_MODES,
  type SharingPolicies,
  SharingPoliciesRef,
} from '../../../plugins/evolution/contract.ts';
import evolution from '../../../plugins/evolution/plugin.ts';
import { GeneTable, TombstoneTable } from '../../../plugins/evolution/store/tables.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { geneRow } from '../../support/gene-rows.ts';
import { until } from '../../support/until.ts';

const GLOBAL = '/admin/v1/evolution/sharing-policy';
const REVOKE = '/admin/v1/evolution/shared-knowledge/revoke';

async function start(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  let asked: SharingPolicies | undefined;
  const asker = definePlugin({
    name: 'asker',
    summary: 'Asks for the policies in force',
    kernel: '^1.0.0',
    needs: { policies: SharingPoliciesRef },
    setup(_scope, { policies }) {
      asked = policies;
    },
  });
  const gateway = await startTestGateway({ plugins: [evolution, asker], env });
  t.teardown(gateway.stop);
  const send = async (method: string, path: string, body: object, match?: string, token?: string) => {
    const headers: Record<string, string> = match === undefined ? {} : { 'if-match': match };
    return gateway.request(path, { method, body, headers, ...(token === undefined ? {} : { token }) });
  };
  return {
    ...gateway,
    gateway: gateway.gateway,
    request: gateway.request.bind(gateway),
    makeTenant: gateway.makeTenant.bind(gateway),
    send,
    policies: () => asked!,
  };
}

test('the mode in force is one of the two, and never above either', (t) => {
  const mode = fc.constantFrom(...SHARING_MODES);
  const rank = (of: (typeof SHARING_MODES)[number]) => SHARING_MODES.indexOf(of);
  fc.assert(
    fc.property(mode, mode, (global, own) => {
      const result = effectiveMode(global, own);
      return rank(result) === Math.min(rank(global), rank(own)) && [global, own].includes(result);
    }),
  );
  t.pass();
});

eachGatewayDatabase(test, 'policies have versions, history and rollback', async (t, fresh) => {
  const { request, send, makeTenant } = await start(t, fresh.environment);
  const first = await request(GLOBAL);
  t.like(first.body, { mode: 'disabled', version: 0, updated_by: null });
  t.is(first.headers.get('etag'), '"0"');
  t.like((await send('PUT', GLOBAL, { mode: 'anonymous', reason: 'why' }, '0')).body, {
    version: 1,
    reason: 'why',
  });
  t.is((await send('PUT', GLOBAL, { mode: 'trusted' }, '0')).body.code, 'sharing-policy.version-mismatch');
  t.is((await send('PUT', GLOBAL, { mode: 'trusted' }, 'x')).status, 400);
  t.is((await send('PUT', GLOBAL, { mode: 'open' })).status, 400);
  t.is((await send('PUT', GLOBAL, { mode: 'trusted', reason: 'x'.repeat(501) })).status, 400);

  const tenant = await makeTenant();
  const path = `/admin/v1/evolution/tenants/${tenant.id}/sharing-policy`;
  const put = await send('PUT', path, { contribution_mode: 'trusted', consume_shared: true, labels: ['a'] });
  t.like(put.body, { version: 1, effective_contribution_mode: 'anonymous', global_mode: 'anonymous' });
  t.like((await send('PUT', path, { contribution_mode: 'disabled' }, 'W/"1"')).body, {
    version: 2,
    consume_shared: true,
  });
  t.is((await send('POST', `${path}/rollback`, { version: 2 })).status, 400);
  t.is(
    (await send('POST', `${path}/rollback`, { version: 9 })).body.code,
    'sharing-policy.version-not-found',
  );
  t.like((await send('POST', `${path}/rollback`, { version: 1 })).body, {
    version: 3,
    contribution_mode: 'trusted',
  });
  const { body } = await request(`${path}/history?limit=2`);
  t.is(body.total, 3);
  t.deepEqual(
    body.entries.map(({ version }: { version: number }) => version),
    [3, 2],
  );
  t.is((await send('PUT', path, { reason: 'nothing' })).status, 400);
  const pointersOf = async (body: object, match?: string) =>
    (await send('PUT', path, body, match)).body.errors
      .map(({ pointer }: { pointer: string }) => pointer)
      .toSorted();
  t.deepEqual(await pointersOf({ reason: 7 }, 'x'), ['/body', '/body/reason', '/headers/if-match']);
  t.deepEqual(await pointersOf({ consume: true, reason: 7 }, '"3", x'), [
    '/body/consume',
    '/body/reason',
    '/headers/if-match',
  ]);
  for (const match of ['*', ' "4" ', '9, W/"5"'])
    t.is((await send('PUT', path, { labels: ['b'] }, match)).status, 200, match);

  const other = await makeTenant();
  t.is((await request(path, { token: other.token })).status, 404);
  t.is((await request('/admin/v1/evolution/tenants/none/sharing-policy')).status, 404);
  t.is((await request(GLOBAL, { token: other.token })).status, 403);
});

eachGatewayDatabase(
  test,
  'of writers at one moment none is lost, and with a version one wins',
  async (t, fresh) => {
    const { request, send } = await start(t, fresh.environment);
    const all = await Promise.all(Array.from({ length: 6 }, () => send('PUT', GLOBAL, { mode: 'trusted' })));
    t.deepEqual(all.map(({ body }) => body.version).toSorted(), [1, 2, 3, 4, 5, 6]);
    const one = await Promise.all(
      Array.from({ length: 6 }, () => send('PUT', GLOBAL, { mode: 'anonymous' }, '6')),
    );
    t.deepEqual(one.map(({ status }) => status).toSorted(), [200, 412, 412, 412, 412, 412]);
    t.is((await request(`${GLOBAL}/history`)).body.total, 7);
  },
);

eachGatewayDatabase(test, 'a change counts on another replica', async (t, fresh) => {
  const [one, two] = [await start(t, fresh.environment), await start(t, fresh.environment)];
  const tenant = await one.makeTenant();
  const path = `/admin/v1/evolution/tenants/${tenant.id}/sharing-policy`;
  t.is((await two.policies().of(tenant.id)).effectiveContributionMode, 'disabled');
  await one.send('PUT', GLOBAL, { mode: 'trusted' });
  await one.send('PUT', path, { contribution_mode: 'trusted' });
  await until(async () => (await two.request(path)).body.effective_contribution_mode === 'trusted');
  await until(async () => (await two.policies().of(tenant.id)).effectiveContributionMode === 'trusted');
  t.false((await two.policies().of(tenant.id)).mayConsume);
});

eachGatewayDatabase(
  test,
  'shared knowledge is revoked with tombstones, and only what is reached',
  async (t, fresh) => {
    const { gateway, send, makeTenant } = await start(t, fresh.environment);
    const { database, ids } = gateway.services;
    const [acme, other] = [await makeTenant(), await makeTenant()];
    const createdAt = new Date(Date.now() - 60_000);
    const add = (
      tenantId: string,
      taskClass: string,
      source: 'hub' | 'local',
      contributor: string | null = null,
    ) =>
      database
        .forTenant(tenantId)
        .insert(GeneTable, geneRow({ id: ids.uuid(), taskClass, source, contributor, createdAt }));
    for (const { id } of [acme, other]) {
      await add(id, 'one', 'hub');
      await add(id, 'two', 'local', id);
      await add(id, 'three', 'local');
    }
    const empty = await send('POST', REVOKE, {});
    t.is(empty.status, 400);
    t.is(empty.body.errors[0].pointer, '/body/confirm_all');
    const pointersOf = async (body: object) =>
      (await send('POST', REVOKE, body)).body.errors
        .map(({ pointer }: { pointer: string }) => pointer)
        .toSorted();
    t.deepEqual(await pointersOf({ reason: 7, confirm_all: false }), ['/body/confirm_all', '/body/reason']);
    t.deepEqual(
      await pointersOf({
        task_class: '',
        source: 'nowhere',
        source_tenant: 7,
        from: '2026-02-01T00:00:00Z',
        to: '2026-01-01T00:00:00Z',
      }),
      ['/body/from', '/body/source', '/body/source_tenant', '/body/task_class'],
    );
    t.deepEqual(await pointersOf({ from: '2090-12-31T23:59:60Z', to: {}, tsk_class: 'one' }), [
      '/body/from',
      '/body/to',
      '/body/tsk_class',
    ]);
    const turned = { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' };
    t.is((await send('POST', REVOKE, turned)).status, 400);
    for (const to of ['2090-12-31T23:59:60Z', '2090-01-01T00:00:00+02']) {
      const refused = await send('POST', REVOKE, { to });
      t.is(refused.status, 400, to);
      t.is(refused.body.errors[0].pointer, '/body/to');
    }
    const ages = { from: '9999-12-31T23:59:59-12:00', to: '9999-12-31T23:59:59-12:00' };
    t.deepEqual((await send('POST', REVOKE, ages)).body, { deleted: 0 });
    t.deepEqual((await send('POST', REVOKE, { to: '0000-01-01T00:00:00Z' })).body, { deleted: 0 });
    const own = await send('POST', REVOKE, { task_class: 'one' }, undefined, acme.token);
    t.deepEqual(own.body, { deleted: 1 });
    t.deepEqual((await send('POST', REVOKE, { source_tenant: other.id })).body, { deleted: 1 });
    t.deepEqual((await send('POST', REVOKE, { confirm_all: true })).body, { deleted: 2 });
    t.deepEqual((await send('POST', REVOKE, { confirm_all: true })).body, { deleted: 0 });
    for (const { id } of [acme, other]) {
      t.is(await database.forTenant(id).count(TombstoneTable), 2);
      t.is(await database.forTenant(id).count(GeneTable, { state: 'revoked' }), 2);
    }
  },
);
