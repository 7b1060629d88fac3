import Router from '@koa/router';
import test from 'ava';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gate, testPlugin } from '../../support/plugins.ts';

test('an existing router serves behind one access rule, and goes with its plugin', async (t) => {
  const router = new Router({ prefix: '/legacy' });
  router.get('/hello/:name', (context) => {
    context.body = { hello: context.params.name };
  });
  const plugin = testPlugin('legacy', {
    setup: (scope) =>
      scope.mount('/legacy', router, { access: access.role('user'), summary: 'the legacy API' }),
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  t.deepEqual((await gateway.request('/legacy/hello/koa')).body, { hello: 'koa' });
  t.is((await gateway.request('/legacy/hello/koa', { token: null })).status, 401);
  t.is((await gateway.request('/legacy/nothing')).status, 404);
  t.regex((await gateway.request('/metrics')).body, /path="\/legacy\/\{rest\*\}"/);
  await gateway.request('/admin/v1/plugins/legacy/disable', { method: 'POST' });
  t.is((await gateway.request('/legacy/hello/koa')).status, 404);
});

test('open streams of one user are bounded by SVC_MAX_STREAMS_PER_USER, for each X-Svc-User-Id', async (t) => {
  const { open, opened } = gate();
  const plugin = testPlugin('streams', {
    setup: (scope) =>
      scope.route(
        route({
          method: 'GET',
          path: '/stream',
          access: access.role('user'),
          summary: 'a stream',
          countsAsStream: () => true,
          handle: () =>
            reply.sse(async (stream) => {
              await stream.data('first');
              await opened;
            }),
        }),
      ),
  });
  await using gateway = await startTestGateway({ plugins: [plugin], env: { SVC_MAX_STREAMS_PER_USER: '1' } });
  const headers = (user: string) => ({ authorization: `Bearer ${gateway.token}`, 'x-svc-user-id': user });
  const first = await fetch(`${gateway.url}/stream`, { headers: headers('ada') });
  await first.body?.getReader().read();
  const second = await gateway.request('/stream', { headers: { 'x-svc-user-id': 'ada' } });
  t.is(second.status, 429);
  t.is(second.body.code, 'limit.streams');
  t.is(second.headers.get('retry-after'), '30');
  const other = await fetch(`${gateway.url}/stream`, { headers: headers('grace') });
  t.is(other.status, 200);
  open();
  await other.text();
});
