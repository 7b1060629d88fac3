import { Readable } from 'node:stream';
import test from 'ava';
import type { EgressRequest } from '../../../foundation/egress/egress.ts';
import { OTHER, openTestEgress, startServer, TENANT, textOf } from './kit.ts';

test('a request reaches the other server, and its answer the caller', async (t) => {
  const server = await startServer(t, async (request, response) => {
    const chunks = await request.toArray();
    response.writeHead(201, 'Made', { 'x-answer': 'yes', 'set-cookie': ['a=1', 'b=2'] });
    response.end(`${request.method} ${request.url} ${request.headers['x-mine']} ${Buffer.concat(chunks)}`);
  });
  const { egress, observed, lookups } = await openTestEgress(t, {
    names: { 'api.example.com': ['127.0.0.1'] },
  });
  const url = `http://api.example.com:${server.port}/v1/things?x=1&y=%20#part`;
  const response = await egress.request(TENANT, {
    url,
    method: 'post',
    headers: { 'X-Mine': 'ä' },
    body: 'text',
  });
  t.like(response, { status: 201, statusText: 'Made', redirected: false });
  t.is(response.headers['x-answer'], 'yes');
  t.deepEqual(response.headers['set-cookie'], ['a=1', 'b=2']);
  t.false('connection' in response.headers || 'transfer-encoding' in response.headers);
  t.is(await textOf(response), 'POST /v1/things?x=1&y=%20 ä text');
  t.is(server.requests[0]?.headers.host, `api.example.com:${server.port}`);
  t.is(server.requests[0]?.headers['user-agent'], 'agent-gateway');
  t.deepEqual(observed, ['answered']);
  t.deepEqual(lookups, ['dns api.example.com']);
});

test('bodies are text, bytes and streams; GET and HEAD have none', async (t) => {
  const server = await startServer(t, async (request, response) => {
    response.end(Buffer.concat(await request.toArray()));
  });
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  for (const body of ['text', new TextEncoder().encode('text'), Readable.from(['te', 'xt'])]) {
    t.is(await textOf(await egress.request(TENANT, { url, method: 'PUT', body })), 'text');
  }
  t.is(await textOf(await egress.request(TENANT, { url, method: 'DELETE', body: null })), '');
  for (const method of ['GET', 'HEAD']) {
    const body = Readable.from(['x']);
    await t.throwsAsync(egress.request(TENANT, { url, method, body }), { code: 'egress.malformed' });
    t.true(body.destroyed);
  }
});

test('what is malformed is told before anything is sent', async (t) => {
  const server = await startServer(t);
  const { egress, observed, trail } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  const bad: readonly EgressRequest[] = [
    { url: 'ftp://127.0.0.1/' },
    { url: `http://user:password@127.0.0.1:${server.port}/` },
    { url, method: 'CONNECT' },
    { url, method: 'trace' },
    { url, method: 'GET / HTTP/1.1\r\nx: y' },
    { url, method: '' },
    { url, headers: { 'x-a': '1\r\nx-b: 2' } },
    { url, headers: { host: 'other.example' } },
  ];
  for (const request of bad) {
    await t.throwsAsync(
      egress.request(TENANT, request),
      { code: 'egress.malformed' },
      JSON.stringify(request),
    );
  }
  t.is(server.sockets.length, 0);
  t.deepEqual(
    observed,
    bad.map(() => 'malformed'),
  );
  t.deepEqual(trail.entries, []);
});

test('a denied request is a record with who, where and why, and never leaves', async (t) => {
  const server = await startServer(t);
  const { egress, trail, observed, lookups } = await openTestEgress(t, {
    allowPrivate: [],
    names: { 'inside.example.com': ['10.0.0.7'], 'rebind.example.com': ['8.8.8.8', '192.168.0.1'] },
  });
  const cases: readonly (readonly [string, string, number, string, RegExp])[] = [
    [
      `http://127.0.0.1:${server.port}/x`,
      '127.0.0.1',
      server.port,
      'loopback',
      /127\.0\.0\.1 .*\(loopback\)/,
    ],
    [`http://0x7f.1:${server.port}/`, '127.0.0.1', server.port, 'loopback', /loopback/],
    [`http://[::ffff:127.0.0.1]:${server.port}/`, '127.0.0.1', server.port, 'loopback', /loopback/],
    ['http://169.254.169.254/latest/meta-data', '169.254.169.254', 80, 'metadata', /metadata/],
    [`http://localhost:${server.port}/`, 'localhost', server.port, 'name', /local networks/],
    ['https://metadata.google.internal/', 'metadata.google.internal', 443, 'name', /local networks/],
    ['http://inside.example.com/', 'inside.example.com', 80, 'private', /inside\.example\.com .*\(private\)/],
    ['http://rebind.example.com/', 'rebind.example.com', 80, 'private', /private/],
    ['http://example.com:25/', 'example.com', 25, 'port', /port 25/],
    ['http://example.com:0/', 'example.com', 0, 'port', /port 0/],
  ];
  for (const [url, , , , message] of cases) {
    const request = { url, requestId: 'request-1', userId: 'user-1', sessionId: 'session-1' };
    const error = await t.throwsAsync(
      egress.request(TENANT, request),
      { code: 'egress.denied', message },
      url,
    );
    t.false(/10\.0\.0\.7|192\.168/.test(error?.message ?? ''), 'no address that a name led to');
  }
  t.deepEqual(
    trail.details,
    cases.map(([, host, port, reason]) => ({ host, port, reason })),
  );
  t.like(trail.entries[0], {
    tenantId: TENANT,
    userId: 'user-1',
    action: 'egress.denied',
    requestId: 'request-1',
    sessionId: 'session-1',
    statusCode: 403,
    errorCode: 'egress.denied',
  });
  t.is(new Set(trail.entries.map(({ id }) => id)).size, cases.length);
  t.deepEqual(
    observed,
    cases.flatMap(([, , , reason]) => ['denied', `denied:${reason}`]),
  );
  t.is(server.sockets.length, 0);
  t.deepEqual(lookups, ['dns inside.example.com', 'dns rebind.example.com']);
});

test('every denial is recorded, also the same one again', async (t) => {
  const { egress, trail } = await openTestEgress(t, { allowPrivate: [] });
  const denied = Array.from({ length: 20 }, () => egress.request(TENANT, { url: 'http://10.0.0.1/' }));
  for (const one of denied) await t.throwsAsync(one, { code: 'egress.denied' });
  t.is(trail.entries.length, 20);
});

test('nothing is denied unrecorded: while the trail is full the caller is told to come again', async (t) => {
  const { egress, trail } = await openTestEgress(t, { allowPrivate: [] });
  trail.isFull = true;
  await t.throwsAsync(egress.request(TENANT, { url: 'http://10.0.0.1/' }), { code: 'gateway.overloaded' });
  t.is(trail.entries.length, 0);
});

test('the rules of a tenant hold for its requests, those of another do not', async (t) => {
  const server = await startServer(t);
  const { egress, trail } = await openTestEgress(t, { names: { 'api.example.com': ['127.0.0.1'] } });
  const get = async (tenant: string, path: string) =>
    textOf(await egress.request(tenant, { url: `http://api.example.com:${server.port}${path}` }));
  const rule = {
    tenantId: TENANT,
    hostPattern: '*.example.com',
    pathPrefix: '/admin',
    action: 'deny' as const,
  };
  const { id } = await egress.rules.create(rule);
  await t.throwsAsync(get(TENANT, '/admin/x'), { code: 'egress.denied', message: /rule/ });
  await t.throwsAsync(get(TENANT, '/v1/..%2fadmin'), { code: 'egress.denied' });
  t.is(await get(TENANT, '/v1'), 'hello');
  t.is(await get(OTHER, '/admin/x'), 'hello');
  t.deepEqual(trail.details[0], { host: 'api.example.com', port: server.port, reason: 'rule' });
  t.true(await egress.rules.delete(id));
  t.is(await get(TENANT, '/admin/x'), 'hello');
});

test('an allow rule opens the default, never a private address', async (t) => {
  const { egress, trail, lookups } = await openTestEgress(t, {
    default: 'deny',
    allowPrivate: [],
    names: { 'inside.example.com': ['10.0.0.7'] },
  });
  const url = 'http://inside.example.com/';
  await t.throwsAsync(egress.request(TENANT, { url }), { code: 'egress.denied', message: /No rule allows/ });
  t.deepEqual(lookups, [], 'not even a DNS server hears of it');
  await egress.rules.create({ tenantId: TENANT, hostPattern: '*', action: 'allow', priority: 1000 });
  await t.throwsAsync(egress.request(TENANT, { url }), { code: 'egress.denied', message: /private/ });
  t.deepEqual(
    trail.details.map(({ reason }) => reason),
    ['default', 'private'],
  );
});

test('a check says what a request would say, and connects to nothing', async (t) => {
  const server = await startServer(t);
  const { egress, trail, observed } = await openTestEgress(t, {
    names: { 'hook.example.com': ['127.0.0.1'], 'inside.example.com': ['10.0.0.7'] },
  });
  await egress.check(TENANT, `http://hook.example.com:${server.port}/`);
  await egress.check(TENANT, `http://127.0.0.1:${server.port}/`);
  await t.throwsAsync(egress.check(TENANT, 'http://inside.example.com/'), { code: 'egress.denied' });
  await t.throwsAsync(egress.check(TENANT, 'http://10.0.0.1/'), { code: 'egress.denied' });
  await t.throwsAsync(egress.check(TENANT, 'http://nowhere.example.com/'), { code: 'egress.unreachable' });
  await t.throwsAsync(egress.check(TENANT, 'file:///etc/passwd'), { code: 'egress.malformed' });
  await egress.rules.create({ tenantId: TENANT, hostPattern: 'hook.example.com', action: 'deny' });
  await t.throwsAsync(egress.check(TENANT, `http://hook.example.com:${server.port}/`), {
    code: 'egress.denied',
  });
  t.is(server.sockets.length, 0);
  t.deepEqual([trail.entries, observed], [[], []]);
});

test('a request inside a database transaction is refused before it waits', async (t) => {
  const { egress, database } = await openTestEgress(t);
  const inside = <T>(work: () => Promise<T>) => database.transaction(work);
  await t.throwsAsync(
    inside(() => egress.request(TENANT, { url: 'http://example.com/' })),
    { message: /an outbound request/ },
  );
  await t.throwsAsync(
    inside(() => egress.check(TENANT, 'http://example.com/')),
    { message: /the check of an outbound address/ },
  );
});

test('names that the operator opened are looked up as the machine does', async (t) => {
  const server = await startServer(t);
  const names = { localhost: ['127.0.0.1'], 'wiki.example.com': ['127.0.0.1'] };
  const { egress, lookups } = await openTestEgress(t, {
    allowPrivate: ['localhost', '*.example.com'],
    names,
  });
  for (const host of ['localhost', 'wiki.example.com']) {
    t.is(await textOf(await egress.request(TENANT, { url: `http://${host}:${server.port}/` })), 'hello');
  }
  t.deepEqual(lookups, ['local localhost', 'local wiki.example.com']);
});

test('a server that is not there is told by its name, not by its address', async (t) => {
  const { egress, observed } = await openTestEgress(t, { names: { 'gone.example.com': ['127.0.0.1'] } });
  const error = await t.throwsAsync(egress.request(TENANT, { url: 'http://gone.example.com:2/' }), {
    code: 'egress.unreachable',
    message: 'gone.example.com cannot be reached (ECONNREFUSED).',
  });
  t.truthy(error?.cause, 'the log has more');
  await t.throwsAsync(egress.request(TENANT, { url: 'http://nowhere.example.com/' }), {
    code: 'egress.unreachable',
  });
  t.deepEqual(observed, ['unreachable', 'unreachable']);
});

test('after the end nothing is sent, and what was open is broken', async (t) => {
  const server = await startServer(t, () => {});
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  const open = egress.request(TENANT, { url });
  open.catch(() => {});
  await new Promise<void>((resolve) => {
    const look = () => (server.requests.length > 0 ? resolve() : setImmediate(look));
    look();
  });
  await egress.close();
  await t.throwsAsync(open, { code: 'gateway.draining' });
  await t.throwsAsync(egress.request(TENANT, { url }), { code: 'gateway.draining' });
});
