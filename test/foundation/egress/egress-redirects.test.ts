import { Readable } from 'node:stream';
import test from 'ava';
import { openTestEgress, startServer, TENANT, textOf } from './kit.ts';

/** A server that redirects `/<status>?<place>`, and tells what reaches it elsewhere. */
const redirecting = (t: Parameters<typeof startServer>[0]) =>
  startServer(t, async (request, response) => {
    const [, status, place] = /^\/(3\d\d)\?(.*)$/.exec(request.url ?? '') ?? [];
    const body = Buffer.concat(await request.toArray()).toString();
    if (status === undefined)
      response.end(JSON.stringify({ ...request.headers, method: request.method, body }));
    else response.writeHead(Number(status), { location: decodeURIComponent(place ?? '') }).end('moved');
  });

test('redirects are followed, relative ones too, and the answer says where it comes from', async (t) => {
  const { port } = await redirecting(t);
  const { egress } = await openTestEgress(t);
  const at = `http://127.0.0.1:${port}`;
  const response = await egress.request(TENANT, { url: `${at}/302?${encodeURIComponent('/301?..%2Fend')}` });
  t.like(response, { status: 200, url: `${at}/end`, redirected: true });
  t.like(JSON.parse(await textOf(response)), { method: 'GET' });
});

test('methods and bodies change as fetch says', async (t) => {
  const { port } = await redirecting(t);
  const { egress } = await openTestEgress(t);
  const cases: readonly (readonly [number, string, string, string])[] = [
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'DELETE', 'GET', ''],
    [301, 'PUT', 'PUT', 'text'],
    [302, 'PATCH', 'PATCH', 'text'],
    [307, 'POST', 'POST', 'text'],
    [308, 'PUT', 'PUT', 'text'],
  ];
  for (const [status, method, becomes, body] of cases) {
    const response = await egress.request(TENANT, {
      url: `http://127.0.0.1:${port}/${status}?/end`,
      method,
      body: 'text',
      headers: { 'content-type': 'text/plain', 'content-language': 'de' },
    });
    const seen = JSON.parse(await textOf(response));
    t.like(seen, { method: becomes, body }, `${status} ${method}`);
    t.is(seen['content-type'], body === '' ? undefined : 'text/plain', `${status} ${method}`);
    t.is(seen['content-language'], body === '' ? undefined : 'de');
  }
  const head = await egress.request(TENANT, { url: `http://127.0.0.1:${port}/303?/end`, method: 'HEAD' });
  t.is(await textOf(head), '');
});

test('a body that was a stream cannot be sent again', async (t) => {
  const { port } = await redirecting(t);
  const { egress } = await openTestEgress(t);
  const send = (status: number) =>
    egress.request(TENANT, {
      url: `http://127.0.0.1:${port}/${status}?/end`,
      method: 'POST',
      body: Readable.from(['x']),
    });
  await t.throwsAsync(send(307), { code: 'egress.bad-redirect', message: /stream/ });
  t.is((await send(302)).status, 200);
});

test('credentials do not travel to another origin, and do not come back', async (t) => {
  const first = await redirecting(t);
  const second = await redirecting(t);
  const { egress } = await openTestEgress(t);
  const [here, there] = [`http://127.0.0.1:${first.port}`, `http://127.0.0.1:${second.port}`];
  const headers = { authorization: 'Bearer x', cookie: 'a=1', 'x-api-key': 'x', 'x-plain': 'kept' };
  const seen = async (url: string) =>
    JSON.parse(await textOf(await egress.request(TENANT, { url, headers })));
  t.like(await seen(`${here}/302?/end`), headers, 'the same origin');
  for (const url of [`${here}/302?${there}/end`, `${here}/302?${there}/302?${here}/end`]) {
    const fields = await seen(url);
    t.deepEqual(
      [fields.authorization, fields.cookie, fields['x-api-key'], fields['x-plain']],
      [undefined, undefined, undefined, 'kept'],
      url,
    );
  }
});

test('every redirect is checked anew, and the place that was refused is recorded', async (t) => {
  const { port, requests } = await redirecting(t);
  const { egress, trail } = await openTestEgress(t, {
    names: { 'inside.example.com': ['192.168.0.1'] },
  });
  await egress.rules.create({
    tenantId: TENANT,
    hostPattern: '127.0.0.1',
    pathPrefix: '/admin',
    action: 'deny',
  });
  const cases: readonly (readonly [string, string, number, string])[] = [
    ['http://169.254.169.254/latest', '169.254.169.254', 80, 'metadata'],
    ['http://127.0.0.2/', '127.0.0.2', 80, 'loopback'],
    ['http://0x7f000002/', '127.0.0.2', 80, 'loopback'],
    ['//[::1]:8080/', '::1', 8080, 'loopback'],
    ['http://inside.example.com/', 'inside.example.com', 80, 'private'],
    ['http://localhost/', 'localhost', 80, 'loopback'],
    ['http://example.com:6667/', 'example.com', 6667, 'port'],
    ['/admin/x', '127.0.0.1', port, 'rule'],
    ['/v1/..%252fadmin', '127.0.0.1', port, 'rule'],
  ];
  for (const [place] of cases) {
    const names = egress.request(TENANT, {
      url: `http://127.0.0.1:${port}/302?${encodeURIComponent(place)}`,
    });
    if (place === 'http://localhost/') await t.throwsAsync(names, { code: 'egress.unreachable' }, place);
    else await t.throwsAsync(names, { code: 'egress.denied' }, place);
  }
  const expected = cases.filter(([place]) => place !== 'http://localhost/');
  t.deepEqual(
    trail.details,
    expected.map(([, host, at, reason]) => ({ host, port: at, reason })),
  );
  t.is(requests.length, cases.length, 'no second request arrived');
});

test('a redirect to what is no web address is refused, and not repeated', async (t) => {
  const { port } = await redirecting(t);
  const { egress } = await openTestEgress(t);
  for (const place of [
    'file:///etc/passwd',
    'ftp://example.com/',
    'http://user:secret@example.com/',
    'http://',
    'data:,secret',
    'http://a..b/',
  ]) {
    const url = `http://127.0.0.1:${port}/302?${encodeURIComponent(place)}`;
    const error = await t.throwsAsync(
      egress.request(TENANT, { url }),
      { code: 'egress.bad-redirect' },
      place,
    );
    t.false(error?.message.includes('secret'));
  }
});

test('redirects end after as many as are allowed, also in a circle', async (t) => {
  const { port, requests } = await startServer(t, (request, response) => {
    response.writeHead(302, { location: request.url === '/a' ? '/b' : '/a' }).end();
  });
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${port}/a`;
  await t.throwsAsync(egress.request(TENANT, { url }), { code: 'egress.too-many-redirects' });
  t.is(requests.length, 6);
  await t.throwsAsync(egress.request(TENANT, { url, redirects: 0 }), { code: 'egress.too-many-redirects' });
  t.is(requests.length, 7);
});

test('a redirect can be the answer, or an error', async (t) => {
  const { port, requests } = await redirecting(t);
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${port}/302?/end`;
  const response = await egress.request(TENANT, { url, redirect: 'manual' });
  t.like(response, { status: 302, redirected: false, url });
  t.is(response.headers.location, '/end');
  t.is(await textOf(response), 'moved');
  await t.throwsAsync(egress.request(TENANT, { url, redirect: 'error' }), { code: 'egress.bad-redirect' });
  t.is(requests.length, 2);
});

test('what looks like a redirect but is none is the answer', async (t) => {
  const { port } = await startServer(t, (request, response) => {
    response
      .writeHead(request.url === '/304' ? 304 : 302, request.url === '/200' ? { location: '/' } : {})
      .end();
  });
  const { egress } = await openTestEgress(t);
  t.is((await egress.request(TENANT, { url: `http://127.0.0.1:${port}/304` })).status, 304);
  t.is((await egress.request(TENANT, { url: `http://127.0.0.1:${port}/302` })).status, 302);
});

test('an endless body of a redirect is not waited for', async (t) => {
  const { port } = await startServer(t, (request, response) => {
    if (request.url === '/end') response.end('hello');
    else response.writeHead(302, { location: '/end' }).write('x');
  });
  // Nor does it keep its place among the requests that the tenant may have open.
  const { egress } = await openTestEgress(t, { bounds: { openPerTenant: 1 } });
  t.is(await textOf(await egress.request(TENANT, { url: `http://127.0.0.1:${port}/` })), 'hello');
});
