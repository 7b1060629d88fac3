import { Readable } from 'node:stream';
import test from 'ava';
import { until } from '../../support/until.ts';
import { openTestEgress, startServer, TENANT } from './kit.ts';

const PATIENCE = 15_000;

const echo = (t: Parameters<typeof startServer>[0]) =>
  startServer(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.url === '/moved') response.writeHead(307, { location: '/end' }).end();
    else if (request.url === '/204') response.writeHead(204).end();
    else if (request.url === '/words') response.writeHead(200, 'Très bien').end();
    else if (request.url === '/999') response.writeHead(999).end();
    else if (request.url === '/stream') response.write('first');
    else {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.end(JSON.stringify({ ...request.headers, method: request.method, body }));
    }
  });

test('it takes what fetch takes and gives what fetch gives', async (t) => {
  const { port } = await echo(t);
  const { egress } = await openTestEgress(t);
  const fetch = egress.fetchFor(TENANT);
  const url = `http://127.0.0.1:${port}/`;
  const bodies: readonly (readonly [ConstructorParameters<typeof Response>[0], RegExp, string])[] = [
    ['text', /^text\/plain/, 'text'],
    [new URLSearchParams({ a: '1' }), /urlencoded/, 'a=1'],
    [new TextEncoder().encode('bytes'), /^$/, 'bytes'],
    [new Blob(['blob'], { type: 'text/css' }), /css/, 'blob'],
  ];
  for (const [body, type, sent] of bodies) {
    const response = await fetch(url, { method: 'POST', body, headers: { 'X-Mine': '1' } });
    t.true(response instanceof Response);
    t.like(response, { status: 200, ok: true, statusText: 'OK', url, redirected: false });
    t.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
    const seen = (await response.json()) as Record<string, string>;
    t.like(seen, { method: 'POST', body: sent, 'x-mine': '1' });
    t.regex(seen['content-type'] ?? '', type);
  }
  t.like(await (await fetch(new URL(url))).json(), { method: 'GET' });
  t.like(await (await fetch(new Request(url, { method: 'PUT', body: 'x' }))).json(), {
    method: 'PUT',
    body: 'x',
  });
  const empty = await fetch(`${url}204`);
  t.deepEqual([empty.status, empty.body], [204, null]);
  t.like(await fetch(`${url}words`), { status: 200, statusText: 'Tr\ufffds bien' });
  await t.throwsAsync(fetch(`${url}999`), { code: 'egress.unreachable', message: /status 999/ });
});

test('a redirect gets a body again that was no stream, and a stream is sent as it comes', async (t) => {
  const { port } = await echo(t);
  const { egress } = await openTestEgress(t);
  const fetch = egress.fetchFor(TENANT);
  const url = `http://127.0.0.1:${port}/moved`;
  const moved = await fetch(url, { method: 'POST', body: 'text' });
  t.like(moved, { redirected: true, url: `http://127.0.0.1:${port}/end` });
  t.like(await moved.json(), { method: 'POST', body: 'text' });
  const stream = () =>
    Readable.toWeb(Readable.from([Buffer.from('te'), Buffer.from('xt')])) as ReadableStream;
  const streamed = { method: 'POST', body: stream(), duplex: 'half' } as RequestInit;
  t.like(await (await fetch(`http://127.0.0.1:${port}/`, streamed)).json(), {
    body: 'text',
    'transfer-encoding': 'chunked',
  });
  await t.throwsAsync(fetch(url, { ...streamed, body: stream() }), { code: 'egress.bad-redirect' });
  t.is((await fetch(url, { method: 'POST', body: 'x', redirect: 'manual' })).status, 307);
  await t.throwsAsync(fetch(url, { method: 'POST', body: 'x', redirect: 'error' }), {
    code: 'egress.bad-redirect',
  });
});

test('it is bound to its tenant, and its denials name the request that it serves', async (t) => {
  const { port } = await echo(t);
  const { egress, trail } = await openTestEgress(t);
  await egress.rules.create({ tenantId: TENANT, hostPattern: '127.0.0.1', action: 'deny' });
  const fetch = egress.fetchFor(TENANT, { requestId: 'request-1', userId: 'user-1' });
  await t.throwsAsync(fetch(`http://127.0.0.1:${port}/`), { code: 'egress.denied' });
  t.like(trail.entries[0], { tenantId: TENANT, requestId: 'request-1', userId: 'user-1' });
  t.is((await egress.fetchFor('another')(`http://127.0.0.1:${port}/`)).status, 200);
});

test('a signal aborts it, and a cancelled body closes the connection', async (t) => {
  const server = await echo(t);
  const { egress } = await openTestEgress(t);
  const fetch = egress.fetchFor(TENANT, { timeout: 20_000, bodyTimeout: 20_000 });
  const url = `http://127.0.0.1:${server.port}/stream`;
  await t.throwsAsync(fetch(url, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  const controller = new AbortController();
  const { body } = await fetch(url, { signal: controller.signal });
  const reader = body!.getReader();
  t.is(Buffer.from((await reader.read()).value!).toString(), 'first');
  controller.abort();
  await t.throwsAsync(reader.read(), { name: 'AbortError' });
  const second = await fetch(url);
  await second.body?.cancel();
  await until(() => server.sockets.every(({ destroyed }) => destroyed), PATIENCE);
});
