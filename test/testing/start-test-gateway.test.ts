import { existsSync } from 'node:fs';
import test from 'ava';
import { startTestGateway } from '../../testing/index.ts';
import { testPlugin } from '../support/plugins.ts';

const leaky = testPlugin('leaky', {
  setup: (scope) =>
    scope.defer(() => {
      throw new Error('still in use');
    }),
});

test('a plugin that leaves something behind fails the test at stop, and the folder goes all the same', async (t) => {
  const gateway = await startTestGateway({ plugins: [leaky] });
  await t.throwsAsync(gateway.stop, { message: /left something behind: leaky: .*still in use/ });
  t.false(existsSync(gateway.folder));
});

test('a test that is about what is left behind may say so', async (t) => {
  const gateway = await startTestGateway({ plugins: [leaky], allowLeaks: true });
  await t.notThrowsAsync(gateway.stop);
});

test('each tenant that is made has a key for itself alone', async (t) => {
  await using gateway = await startTestGateway();
  const [one, other] = [await gateway.makeTenant('one'), await gateway.makeTenant('other')];
  const me = async (token: string) => (await gateway.request('/v1/me', { token })).body.tenant_id;
  t.deepEqual([await me(one.token), await me(other.token)], [one.id, other.id]);
  t.is((await gateway.request(`/v1/tenants/${one.id}`, { token: other.token })).status, 404);
});

test('an answer to HEAD has the type of JSON and no body', async (t) => {
  await using gateway = await startTestGateway();
  const { status, headers, body } = await gateway.request('/v1/me', { method: 'HEAD' });
  t.is(status, 200);
  t.regex(headers.get('content-type')!, /^application\/json/);
  t.is(body, '');
});
