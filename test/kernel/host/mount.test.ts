import Router from '@koa/router';
import test from 'ava';
import type { Context } from 'koa';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gate, testPlugin } from '../../support/plugins.ts';
import { exchange, statusOf } from '../../support/raw-http.ts';

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

test('a router of paths without the prefix is asked for what follows it', async (t) => {
  const router = new Router();
  router.get('/', (context) => {
    context.body = 'root';
  });
  router.get('/hello/:name', (context) => {
    context.body = { hello: context.params.name, path: context.path };
  });
  const plugin = testPlugin('legacy', {
    setup: (scope) => scope.mount('/legacy', router, { access: access.public(), summary: 'legacy' }),
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  t.deepEqual((await gateway.request('/legacy/hello/koa?x=1')).body, {
    hello: 'koa',
    path: '/legacy/hello/koa',
  });
  t.is((await gateway.request('/legacy')).body, 'root');
  t.is((await gateway.request('/legacy/legacy/hello/koa')).status, 404);
});

/** Answers how many bytes came. */
async function count(context: Context): Promise<void> {
  let size = 0;
  for await (const piece of context.req) size += piece.length;
  context.body = { size };
}

test('a body that comes in one piece with its headers has the limit of the router, too', async (t) => {
  const router = new Router();
  router.post('/in', count);
  const plugin = testPlugin('legacy', {
    setup: (scope) =>
      scope.mount('/legacy', router, { access: access.role('user'), summary: 'legacy', bodyLimit: 1_000 }),
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  // Its first request waits for the database.
  const { token } = await gateway.makeTenant('Acme');
  const post = async (size: number) => {
    const lines = [
      'POST /legacy/in HTTP/1.1',
      'host: gateway',
      `authorization: Bearer ${token}`,
      'transfer-encoding: chunked',
      'connection: close',
      '',
      size.toString(16),
      'x'.repeat(size),
      '0\r\n\r\n',
    ];
    return statusOf(await exchange(gateway.url, lines.join('\r\n')));
  };
  t.is(await post(1_001), 413);
  t.is(await post(1_000), 200);
});

test('a router has limits of its own, and a place in the document', async (t) => {
  const router = new Router();
  router.post('/in/:hook', count);
  const openapi = {
    '/in/{hook}': { post: { summary: 'Take it', responses: { 200: { description: 'Taken' } } } },
  };
  const plugin = testPlugin('legacy', {
    setup(scope) {
      scope.mount('/legacy', router, {
        access: access.role('user'),
        summary: 'legacy',
        bodyLimit: 1_000,
        rateLimit: { perMinute: 4, by: ({ identity }) => identity.tenantId },
        openapi,
      });
      scope.mount('/quiet', new Router(), { access: access.public(), summary: 'says nothing' });
    },
  });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const post = (body: string) => gateway.request('/legacy/in/x', { method: 'POST', body });
  t.deepEqual((await post('x'.repeat(1_000))).body, { size: 1_000 });
  t.is((await post('x'.repeat(1_001))).status, 413);
  const pieces = new ReadableStream({
    start(controller) {
      for (let sent = 0; sent < 10; sent += 1) controller.enqueue(Buffer.alloc(500));
      controller.close();
    },
  });
  const chunked = await fetch(`${gateway.url}/legacy/in/x`, {
    method: 'POST',
    body: pieces,
    duplex: 'half',
    headers: { authorization: `Bearer ${gateway.token}` },
  } as RequestInit);
  t.is(chunked.status, 413);
  t.is((await post('x')).status, 200);
  t.is((await post('x')).status, 429);
  const { paths } = gateway.gateway.services.openapi();
  t.like(paths['/legacy/in/{hook}']?.post as object, {
    summary: 'Take it',
    tags: ['legacy'],
    'x-access': { kind: 'roles' },
  });
  t.is(paths['/quiet']?.summary, 'says nothing');
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
