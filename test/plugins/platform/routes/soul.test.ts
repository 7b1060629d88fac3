import test from 'ava';
import { shared } from '../../../support/shared.ts';
import { startContextGateway } from './context-gateway.ts';

const gateway = shared((file) => startContextGateway(file));
const put = (body: string) => ({ method: 'PUT', body, headers: { 'content-type': 'text/plain' } });

test('SOUL.md is read and replaced, for one tenant', async (t) => {
  const { request, makeTenant } = await gateway();
  const [one, two] = [await makeTenant(), await makeTenant()];
  const none = await request('/v1/soul', { token: one.token });
  t.deepEqual([none.status, none.body.code], [404, 'soul.not-found']);
  t.is((await request('/v1/soul', { ...put('# Soul 🍵\r\n'), token: one.token })).status, 204);
  const read = await request('/v1/soul', { token: one.token });
  t.deepEqual(
    [read.body, read.headers.get('content-type')],
    ['# Soul 🍵\r\n', 'text/markdown; charset=utf-8'],
  );
  t.is((await request('/v1/soul', { token: two.token })).status, 404);
});

test('SOUL.md has 64 KiB at most', async (t) => {
  const { request } = await (await gateway()).tenant();
  t.is((await request('/v1/soul', put('x'.repeat(65_537)))).status, 413);
  t.is((await request('/v1/soul')).status, 404);
  t.is((await request('/v1/soul', put('x'.repeat(65_536)))).status, 204);
});
