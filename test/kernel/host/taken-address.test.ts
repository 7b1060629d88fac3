import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { field } from '../../../foundation/config/field.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { freePort } from '../../support/free-port.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { pingService } from '../grpc/kit.ts';

/** An address on which another process listens, as it were, until the test ends or `free` is called. */
async function takenAddress() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    free: () => server.close(),
    [Symbol.dispose]: () => server.close(),
  };
}

/** A plugin on an address of its own. */
const shop = (isRequired?: boolean) =>
  testPlugin('shop', {
    config: Type.Object({
      place: field.address({ env: 'SHOP_ADDR', unset: 'the gateway’s', description: 'Where it listens' }),
    }),
    listen: { field: 'place', ...(isRequired === undefined ? {} : { isRequired }) },
    setup: (scope) => scope.route(publicRoute('/shop', () => ({}))),
  });

for (const [variable, plugin] of [
  ['HUB_ADDR', 'hub'],
  ['SVC_RUNTIME_ADDR', 'runtime'],
  ['SVC_GRPC_ADDR', '[a-z-]+'],
] as const) {
  test(`a taken ${variable} stops the start, and plugin, address and variable are named`, async (t) => {
    using taken = await takenAddress();
    const { message } = await t.throwsAsync(startTestGateway({ env: { [variable]: taken.address } }));
    const named = `${plugin}: the address ${taken.address} is taken by another process, or by another address of this gateway; set ${variable}`;
    t.regex(message, new RegExp(`^${named}$`));
  });
}

test('where the gateway’s own address cannot be had, what sets the host is named for a host, what sets the port for a port', async (t) => {
  using taken = await takenAddress();
  const [, port = ''] = taken.address.split(':');
  const start = (env: Record<string, string>) => startTestGateway({ plugins: [], env });
  await t.throwsAsync(start({ SVC_HOST: '203.0.113.77', SAAS_API_PORT: port }), {
    message: `kernel: the address 203.0.113.77:${port} cannot be bound (EADDRNOTAVAIL); set SVC_HOST`,
  });
  await t.throwsAsync(start({ SVC_HOST: 'nope.invalid' }), {
    message: /cannot be bound \(E\w+\); set SVC_HOST$/,
  });
  await t.throwsAsync(start({ SAAS_API_PORT: port }), {
    message: `kernel: the address ${taken.address} is taken by another process, or by another address of this gateway; set SAAS_API_PORT`,
  });
});

test('a plugin that does not require its address fails alone when it is taken', async (t) => {
  using taken = await takenAddress();
  const env = { SHOP_ADDR: taken.address };
  await using gateway = await startTestGateway({ plugins: [shop()], env });
  const { body } = await gateway.request('/admin/v1/plugins/shop');
  t.is(body.state, 'failed');
  t.regex(body.reason, /set SHOP_ADDR$/);
  await t.throwsAsync(startTestGateway({ plugins: [shop(true)], env }), { message: /set SHOP_ADDR$/ });
});

test('an address that another one of the gateway takes up is not said to be another process’s alone', async (t) => {
  const port = String(await freePort());
  const env = { SVC_HOST: '127.0.0.1', SAAS_API_PORT: port, SHOP_ADDR: `0.0.0.0:${port}` };
  await t.throwsAsync(startTestGateway({ plugins: [shop(true)], env }), {
    message: /:\d+ is taken by another process, or by another address of this gateway; set SHOP_ADDR$/,
  });
});

test('while the gateway runs, a taken address refuses the change alone', async (t) => {
  using taken = await takenAddress();
  const pings = testPlugin('pings', { setup: (scope) => scope.grpc(pingService('a')) });
  const env = { SHOP_ADDR: taken.address, SVC_GRPC_ADDR: taken.address };
  const yaml = 'plugins: {shop: {enabled: false}, pings: {enabled: false}}';
  await using gateway = await startTestGateway({ plugins: [shop(true), pings], env, yaml });
  const enable = (name: string) => gateway.request(`/admin/v1/plugins/${name}/enable`, { method: 'POST' });
  for (const [name, variable] of [
    ['shop', 'SHOP_ADDR'],
    ['pings', 'SVC_GRPC_ADDR'],
  ] as const) {
    const { status, body } = await enable(name);
    t.is(status, 409);
    t.regex(body.detail, new RegExp(`set ${variable}$`));
  }
  taken.free();
  await until(async () => (await enable('shop')).status === 200);
  t.is((await gateway.request('/shop')).status, 200);
});
