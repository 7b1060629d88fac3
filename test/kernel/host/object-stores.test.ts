import { access, ObjectStoresPoint, route, Type } from 'agent-gateway';
import test from 'ava';
import { startTestGateway } from '../../../testing/index.ts';
import { boxStore } from '../../foundation/objects/box-store.ts';
import { testPlugin } from '../../support/plugins.ts';

/** Keeps a text of the tenant. */
const keeping = testPlugin('keeping', {
  setup: (scope) => {
    const { objects } = scope.services;
    const common = { path: '/v1/kept', access: access.role('user'), summary: 'A text' } as const;
    scope.route(
      route({
        ...common,
        method: 'PUT',
        schema: { body: Type.Object({ text: Type.String() }) },
        handle: async ({ body, tenant }) => {
          await objects.forTenant(tenant.id).put('kept.txt', body.text);
          return {};
        },
      }),
      route({
        ...common,
        method: 'GET',
        handle: async ({ tenant }) => ({
          text: (await objects.forTenant(tenant.id).text('kept.txt', 100)) ?? null,
        }),
      }),
    );
  },
});

test('objects are in the store of a plugin; while it is away they are unavailable, and the gateway is not ready', async (t) => {
  const box = boxStore();
  const acme = testPlugin('acme', { setup: (scope) => scope.contribute(ObjectStoresPoint, box) });
  const gateway = await startTestGateway({
    plugins: [keeping, acme],
    env: { OBJECT_STORE_URL: 'plugin://acme/box' },
  });
  t.teardown(gateway.stop);
  const [one, two] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
  const kept = async (token: string, text?: string) =>
    gateway.request('/v1/kept', { token, ...(text === undefined ? {} : { method: 'PUT', body: { text } }) });
  const ready = () => gateway.request('/health/ready');
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });

  t.is((await kept(one.token, 'hello')).status, 200);
  t.deepEqual((await kept(one.token)).body, { text: 'hello' });
  t.deepEqual((await kept(two.token)).body, { text: null });
  t.is(box.size(), 1);
  t.is((await ready()).status, 200);

  await turn('disable');
  const away = await kept(one.token);
  t.deepEqual([away.status, away.body.code], [503, 'objects.unavailable']);
  const { status, body } = await ready();
  t.is(status, 503);
  t.is(body.checks.objects, 'error');
  await turn('enable');
  t.deepEqual((await kept(one.token)).body, { text: 'hello' });
  t.is((await ready()).status, 200);
});

test('a name that nobody offers is said in the checks of the operator', async (t) => {
  const gateway = await startTestGateway({
    plugins: [keeping],
    env: { OBJECT_STORE_URL: 'plugin://acme/box' },
  });
  t.teardown(gateway.stop);
  t.is((await gateway.request('/health/ready')).status, 503);
  const { checks } = await gateway.gateway.services.deployment.readiness();
  t.regex(
    checks[0]?.reason ?? '',
    /OBJECT_STORE_URL names plugin\/acme\/box, which no plugin that runs offers/,
  );
});
