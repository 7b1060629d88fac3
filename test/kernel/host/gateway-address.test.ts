import test from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { field } from '../../../foundation/config/field.ts';
import { parseGatewayFile } from '../../../foundation/config/gateway-file.ts';
import { gatewayAddress } from '../../../kernel/host/gateway-address.ts';
import { testPlugin } from '../../support/plugins.ts';

const shop = testPlugin('shop');
const kiosk = testPlugin('kiosk', {
  config: Type.Object({
    address: field.address({ env: 'KIOSK_ADDR', unset: 'the gateway’s', description: 'Where it listens' }),
  }),
  listen: { field: 'address', alone: { without: 'shop', host: '127.0.0.1', port: 8080 } },
});

function addressOf({
  env = {},
  host = false,
  port = false,
  plugins = [kiosk],
  yaml,
}: {
  env?: Record<string, string>;
  host?: boolean;
  port?: boolean;
  plugins?: (typeof kiosk)[];
  yaml?: string;
} = {}) {
  const { own, owner, main } = gatewayAddress({
    settings: { listen: { host: '0.0.0.0', port: 80 }, isListenSet: { host, port } },
    plugins,
    file: parseGatewayFile('gateway.yaml', yaml),
    only: [],
    env,
  });
  const text = (address: typeof own) => address && `${address.host}:${address.port} ${address.variable}`;
  return [text(own), owner, text(main)];
}

test('beside the plugin that it names, a plugin changes nothing about where the gateway listens', (t) => {
  const usual = ['0.0.0.0:80 SAAS_API_PORT', 'kernel', '0.0.0.0:80 SAAS_API_PORT'];
  t.deepEqual(addressOf({ plugins: [shop, kiosk] }), usual);
  t.deepEqual(addressOf({ plugins: [shop, kiosk], env: { KIOSK_ADDR: '127.0.0.1:9' } }), usual);
  t.deepEqual(addressOf({ yaml: 'plugins: {kiosk: {enabled: false}}' }), usual);
});

test('alone it says where the gateway listens, as far as the operator does not', (t) => {
  const own = '127.0.0.1:8080 KIOSK_ADDR';
  t.deepEqual(addressOf(), [own, 'kiosk', own]);
  t.deepEqual(addressOf({ plugins: [shop, kiosk], yaml: 'plugins: {shop: {enabled: false}}' })[0], own);
  t.is(addressOf({ port: true })[0], '127.0.0.1:80 SAAS_API_PORT');
  t.is(addressOf({ host: true })[0], '0.0.0.0:8080 KIOSK_ADDR');
  t.is(addressOf({ host: true, port: true })[0], '0.0.0.0:80 SAAS_API_PORT');
});

test('alone and with an address of its own the gateway has no other, unless the operator says one', (t) => {
  const env = { KIOSK_ADDR: '127.0.0.1:9' };
  t.deepEqual(addressOf({ env }), [undefined, 'kiosk', '127.0.0.1:9 KIOSK_ADDR']);
  t.is(addressOf({ env, host: true, port: true })[0], '0.0.0.0:80 SAAS_API_PORT');
  t.is(addressOf({ env: { KIOSK_ADDR: 'nowhere' } })[0], '127.0.0.1:8080 KIOSK_ADDR');
});
