import test from 'ava';
import { startContextGateway } from './context-gateway.ts';

const PATH = '/v1/profile';
const text = { 'content-type': 'text/plain' };
const ana = { 'x-svc-user-id': 'ana' };

test('a profile is written, read as it was written, and removed', async (t) => {
  const { request } = await startContextGateway(t);
  const none = await request(PATH, { headers: ana });
  t.deepEqual([none.status, none.body.code], [404, 'profile.not-found']);
  const body = '# Ana\r\nLikes 🍵\n';
  t.is((await request(PATH, { method: 'PUT', body, headers: { ...text, ...ana } })).status, 204);
  const read = await request(PATH, { headers: ana });
  t.deepEqual([read.status, read.body], [200, body]);
  t.is(read.headers.get('content-type'), 'text/markdown; charset=utf-8');
  t.is((await request(PATH)).status, 404, 'another user has none');
  t.is((await request(PATH, { method: 'PUT', headers: { ...text, ...ana } })).status, 204);
  t.is((await request(PATH, { headers: ana })).status, 404);
});

test('a profile is text of 16 KiB at most', async (t) => {
  const { request } = await startContextGateway(t);
  const put = (body: unknown, headers = {}) =>
    request(PATH, { method: 'PUT', body, headers: { ...text, ...headers } }).then(({ status }) => status);
  t.is(await put('x'.repeat(16_384)), 204);
  t.is(await put('x'.repeat(16_385)), 413);
  t.is(await put('x', { 'content-type': 'application/json' }), 415);
  t.is(await put('x', { 'x-svc-user-id': 'x'.repeat(256) }), 400);
});
