import { access, GatewayError, route, type SecretStore, SecretStoresPoint, Type } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

/** Reads a reference as a tenant's, and tells what came of it. */
const asking = testPlugin('asking', {
  setup: (scope) =>
    scope.route(
      route({
        method: 'POST',
        path: '/v1/secret',
        access: access.role('user'),
        summary: 'Read a secret',
        schema: { body: Type.Object({ reference: Type.String(), url: Type.String() }) },
        handle: async ({ body: { reference, url }, tenant, log }) => {
          const { secrets } = scope.services;
          try {
            const value = await secrets.resolve(reference, { tenantId: tenant.id, url: new URL(url) });
            log.info({ value }, 'read');
            return { value };
          } catch (error) {
            return error instanceof GatewayError
              ? { code: error.code, detail: error.detail }
              : { code: String(error) };
          }
        },
      }),
    ),
});

async function start(t: ExecutionContext, tenantSecrets: (name: string) => string) {
  const asked: unknown[] = [];
  const store: SecretStore = {
    name: 'plugin/acme/vault',
    async read({ path, key, tenantId }) {
      asked.push({ path, key, tenantId });
      return `opensesame-${path}-${key}`;
    },
  };
  const acme = testPlugin('acme', { setup: (scope) => scope.contribute(SecretStoresPoint, store) });
  const gateway = await startTestGateway({
    plugins: [acme, asking],
    env: { OBJECT_STORE_URL: 'none', SVC_TENANT_SECRETS: tenantSecrets('plugin/acme/vault') },
  });
  t.teardown(gateway.stop);
  const tenant = await gateway.makeTenant();
  const read = async (reference: string, url = 'https://api.acme.com/') =>
    (await gateway.request('/v1/secret', { method: 'POST', token: tenant.token, body: { reference, url } }))
      .body;
  const turn = (verb: string) => gateway.request(`/admin/v1/plugins/acme/${verb}`, { method: 'POST' });
  return { gateway, tenant, read, turn, asked };
}

test('a tenant reads from the store of a plugin what it may name, for the host that it is bound to, and no line of the log shows it', async (t) => {
  const { gateway, tenant, read, asked } = await start(t, (store) => `*@api.acme.com=${store}:acme/*`);
  t.deepEqual(await read('plugin/acme/vault:acme/slack#token'), { value: 'opensesame-acme/slack-token' });
  t.deepEqual(asked, [{ path: 'acme/slack', key: 'token', tenantId: tenant.id }]);
  t.is((await read('plugin/acme/vault:acme/slack#token', 'https://evil.test/')).code, 'secret.refused');
  t.is((await read('plugin/acme/vault:other#token')).code, 'secret.refused');
  t.is((await read('plugin/acme/vault:acme/../other#token')).code, 'secret.malformed');
  t.is(asked.length, 1);
  const logs = gateway.logs().join('\n');
  t.regex(logs, /"msg":"read"/);
  t.notRegex(logs, /opensesame/);
  // Not taken for a contribution that nobody reads.
  t.notRegex(logs, /no plugin has the extension point/);
});

test('a store of a plugin that is away, or is called otherwise, is said by name; it is back with the plugin', async (t) => {
  const { read, turn } = await start(t, (store) => `${store}:*,plugin/acme/vualt:*`);
  t.is((await read('plugin/acme/vault:a')).value, 'opensesame-a-undefined');
  const wrong = await read('plugin/acme/vualt:a');
  t.is(wrong.code, 'secret.store-missing');
  t.regex(
    wrong.detail,
    /names plugin\/acme\/vualt, which no plugin that runs offers, did you mean plugin\/acme\/vault\?/,
  );
  await turn('disable');
  t.is((await read('plugin/acme/vault:a')).code, 'secret.store-missing');
  await turn('enable');
  t.is((await read('plugin/acme/vault:a')).value, 'opensesame-a-undefined');
});
