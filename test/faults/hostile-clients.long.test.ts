import test, { type ExecutionContext } from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { ALL_FAMILIES, gatewayDatabase } from '../support/databases.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { connect, exchange, statusOf } from '../support/raw-http.ts';
import { chosen } from '../support/sample.ts';
import { until } from '../support/until.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** A gateway with limits out of the way. */
async function start(t: ExecutionContext, env: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ env: { SVC_ANON_RATE_LIMIT_RPM: '100000', ...env } });
  t.teardown(gateway.stop);
  return gateway;
}

/** Whatever was done to it: it has no error in its log, nothing in flight, and still answers. */
async function unharmed(t: ExecutionContext, gateway: TestGateway): Promise<void> {
  t.is((await gateway.request('/v1/me')).status, 200);
  const bad = gateway.logs().filter((line) => /"level":"(error|fatal)"/.test(line));
  t.deepEqual(bad, []);
  const { body } = await gateway.request('/metrics');
  t.regex(body, /svc_http_requests_in_flight 1\n/);
}

const json = (gateway: TestGateway, path: string, body: string, method = 'POST') =>
  gateway.request(path, { method, headers: { 'content-type': 'application/json' }, body });

/** Paths that a scanner, a broken client or an attacker asks for. */
const PATHS = [
  '/v1/tenants/%00',
  '/v1/tenants/a%00b',
  '/v1/tenants/%2e%2e%2fetc',
  '/v1/tenants/a%2Fb',
  '/v1/tenants/%ff%fe',
  '/v1/tenants/%ed%a0%80',
  '/v1/tenants/%zz',
  '/v1/tenants/%',
  '/v1/tenants/%F0%9F%98%80',
  '/v1/tenants/__proto__',
  '/v1/tenants/constructor',
  `/v1/tenants/${'x'.repeat(511)}`,
  `/v1/tenants/${'x'.repeat(5000)}`,
  `/v1/tenants/${"'; drop table tenants; --".replaceAll(' ', '%20')}`,
  '/v1/models/%00',
  '/v1/models/a/b/c',
  '/v1/models/%2F%2F',
  '/v1//tenants',
  '//v1/tenants',
  '/v1/tenants/',
  '/v1/tenants;jsessionid=1',
  '/v1/tenants/../me',
  '/admin/v1/plugins/__proto__',
  '/admin/v1/plugins/%00',
  `/admin/v1/tenants/%00/api-keys`,
  `/admin/v1/tenants/${DEFAULT_TENANT}/api-keys/%00/rotate`,
  '/v1/audit-logs?action=%00',
  '/v1/audit-logs?action=%ED%A0%80&from=2026-02-30',
  '/v1/audit-logs?limit=1e9&offset=-1',
  '/v1/audit-logs?limit=9007199254740993&offset=9007199254740993',
  '/v1/tenants?limit=999999999999999999999&offset=99999999999999999999',
  '/v1/tenants?limit=1&limit=2&offset[]=3',
  '/v1/tenants?__proto__=1&constructor=2&__proto__[x]=3&toString=1',
  '/v1/tenants?%',
  `/v1/tenants?${'a=1&'.repeat(2000)}`,
  '/admin/v1/audit-logs?tenant_id=%00',
  '/admin/v1/audit-logs?tenant_id=%27%20or%201%3D1',
];

for (const family of chosen('hostile clients', ALL_FAMILIES, 1)) {
  test(`${family}: no path or query, however odd, is an error of the gateway’s`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const gateway = await start(t, fresh.environment);
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PROPFIND']) {
      for (const path of PATHS) {
        const text = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`;
        const status = statusOf(await exchange(gateway.url, text)) ?? 0;
        t.true(status >= 200 && status < 500, `${method} ${path}: ${status}`);
      }
    }
    await unharmed(t, gateway);
  });

  test(`${family}: no body, however odd, is an error of the gateway’s`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const gateway = await start(t, fresh.environment);
    const strings = [
      '"\\u0000"',
      '"a\\u0000b"',
      '"\\ud800"',
      '"\\ud83d\\ude00"',
      '""',
      '" "',
      '1e400',
      'null',
      '[]',
      '{}',
    ];
    const texts = [
      ...strings.map((value) => `{"name": ${value}}`),
      ...strings.map((value) => `{"name": "x", "tenant_id": ${value}}`),
      ...strings.map((value) => `{"name": "x", "roles": [${value}], "scopes": [${value}]}`),
      ...strings.map((value) => `{"name": "x", "expires_at": ${value}, "plan": ${value}}`),
      '{"name": "x", "rate_limit_rpm": 1e400}',
      '{"name": "x", "rate_limit_rpm": 99999999999999999999}',
      '{"name": "x", "rate_limit_rpm": -1, "max_sessions": 0.5}',
      '{"__proto__": {"name": "x", "roles": ["admin"]}}',
      '{"name": "x", "__proto__": {"isAdmin": true}, "constructor": {"prototype": {"x": 1}}}',
      '{"name": "x", "name": "y"}',
      `{"name": "${'x'.repeat(10_000)}"}`,
      '[]',
      'null',
      '1',
      '"text"',
      '{',
      '{"a":}',
      '\u0000',
      '{"name": "x"} trailing',
      '\ufeff{"name": "x"}',
    ];
    for (const path of ['/v1/tenants', '/v1/api-keys', '/admin/v1/bootstrap', '/v1/chat/completions']) {
      for (const text of texts) {
        const { status } = await json(gateway, path, text);
        t.true(status >= 200 && status < 500, `${path} ${text.slice(0, 80)}: ${status}`);
      }
    }
    t.is(({} as Record<string, unknown>).isAdmin, undefined);
    await unharmed(t, gateway);
  });
}

test('JSON of a million brackets is refused, for every route and every model', async (t) => {
  const provider = await startFakeProvider();
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateways = [await start(t), await start(t, { LLM_API_URL: provider.url })];
  const deep = (open: string, close: string, bytes = 1_000_000) => {
    const depth = Math.floor(bytes / (open.length + close.length));
    return `${open.repeat(depth)}1${close.repeat(depth)}`;
  };
  for (const gateway of gateways) {
    const fits = `{"name":"x","extra":${deep('[', ']', 400)}}`;
    t.is((await json(gateway, '/v1/tenants', fits)).status, 201);
    for (const value of [deep('[', ']'), deep('{"a":', '}'), '['.repeat(1_000_000)]) {
      t.is((await json(gateway, '/v1/tenants', value)).status, 400);
      t.is((await json(gateway, '/v1/tenants', `{"name":${value}}`)).status, 400);
      const chat = `{"model":"default","messages":[{"role":"user","content":"x"}],"metadata":${value}}`;
      const answer = await json(gateway, '/v1/chat/completions', chat);
      t.is(answer.status, 400);
      t.is(answer.body.error.type, 'invalid_request_error');
    }
    await unharmed(t, gateway);
  }
});

test('many, large and repeated headers cost their sender a 4xx at most', async (t) => {
  const gateway = await start(t);
  const ask = async (...lines: string[]) => {
    const all = ['GET /v1/me HTTP/1.1', 'Host: x', 'Connection: close', ...lines];
    return statusOf(await exchange(gateway.url, `${all.join('\r\n')}\r\n\r\n`));
  };
  const good = `Authorization: Bearer ${gateway.token}`;
  t.is(await ask(good, `X-Padding: ${'x'.repeat(10_000)}`), 200);
  t.is(await ask(good, `User-Agent: ${'x'.repeat(10_000)}`, 'X-Svc-User-Id: \u00ff\u00fe'), 200);
  t.is(await ask(good, `X-Svc-User-Id: ${'u'.repeat(10_000)}`), 200);
  t.is(await ask(good, `X-Padding: ${'x'.repeat(20_000)}`), 431);
  t.is(await ask(good, ...Array.from({ length: 800 }, (_, index) => `X-${index}: 1`)), 200);
  t.is(await ask(`Authorization: Bearer ${'x'.repeat(10_000)}`), 401);
  t.is(await ask(`Authorization: Bearer hk_${'x'.repeat(10_000)}`), 401);
  t.is(await ask(`Cookie: ${'a=1; '.repeat(2000)}`), 401);
  // The first of two credentials counts, as Node reads them, and never a mixture.
  t.is(await ask(good, 'Authorization: Bearer wrong'), 200);
  t.is(await ask('Authorization: Bearer wrong', good), 401);
  t.is(await ask(good, 'X-Request-ID: one', 'X-Request-ID: two'), 200);
  t.is(await ask(good, 'Content-Length: 0', 'Content-Length: 5'), 400);
  t.is(await ask(good, 'Content-Length: 5', 'Transfer-Encoding: chunked'), 400);
  t.is(await ask(good, 'Transfer-Encoding: gzip, chunked, identity'), 400);
  t.is(await ask(good, 'X-Bad: a\u0000b'), 400);
  t.is(await ask(good, 'Bad Name: x'), 400);
  t.is(await ask(good, 'Expect: the-unexpected'), 417);
  t.is(await ask(good, `traceparent: ${'0'.repeat(9000)}`, `baggage: ${'k=v,'.repeat(1000)}`), 200);
  t.is(await ask(good, `X-Forwarded-For: ${'1.2.3.4, '.repeat(1000)}`), 200);
  await unharmed(t, gateway);
});

test('what is no HTTP gets a 400 or nothing, and the connection is closed', async (t) => {
  const gateway = await start(t);
  for (const text of [
    'hello\r\n\r\n',
    'GET /v1/me HTTP/9.9\r\n\r\n',
    `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    'GET /\u0000 HTTP/1.1\r\nHost: x\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    'POST /v1/tenants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]) {
    const connection = await connect(gateway.url);
    connection.write(Buffer.from(text, 'latin1'));
    await connection.closed;
    const status = statusOf(connection.received());
    t.true(
      status === undefined || (status >= 400 && status < 500),
      `${JSON.stringify(text.slice(0, 40))}: ${status}`,
    );
  }
  for (const first of [
    'GET http://other.example/v1/me HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET ?x HTTP/1.1',
    'GET /v1/me#x HTTP/1.1',
  ]) {
    const status =
      statusOf(await exchange(gateway.url, `${first}\r\nHost: x\r\nConnection: close\r\n\r\n`)) ?? 0;
    t.true(status >= 200 && status < 500, `${first}: ${status}`);
  }
  await unharmed(t, gateway);
});

test('clients that leave at every moment of a request leave nothing behind', async (t) => {
  const gateway = await start(t);
  const body = JSON.stringify({
    model: 'default',
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  });
  const whole =
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const leaves = Array.from({ length: 40 }, async (_, index) => {
    const connection = await connect(gateway.url);
    connection.write(whole.slice(0, Math.ceil((whole.length * (index + 1)) / 40)));
    if (index % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (index === 39) await until(() => connection.received() !== '');
    connection.destroy();
  });
  await Promise.all(leaves);
  await until(async () => /svc_http_requests_in_flight 1\n/.test((await gateway.request('/metrics')).body));
  await unharmed(t, gateway);
});

test('pipelined requests are answered each, in order', async (t) => {
  const gateway = await start(t);
  const one = (id: string, last = false) =>
    `GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nX-Request-ID: ${id}\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
  const received = await exchange(gateway.url, one('a') + one('b') + one('c', true));
  t.deepEqual(
    [...received.matchAll(/x-request-id: (\w)/gi)].map(([, id]) => id),
    ['a', 'b', 'c'],
  );
  await unharmed(t, gateway);
});

test('a client that pipelines thousands of requests loses its connection, and most of them are not served', async (t) => {
  const gateway = await start(t);
  const one = `GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`;
  await exchange(gateway.url, one.repeat(200) + one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  const { length } = gateway.logs();
  await exchange(gateway.url, one.repeat(5_000));
  await until(async () => /_in_flight 1\n/.test((await gateway.request('/metrics')).body));
  t.true(gateway.logs().length - length < 1_000);
  await unharmed(t, gateway);
});

test('a body that is refused before it is read does not corrupt the next request of the connection', async (t) => {
  const gateway = await start(t);
  const smuggled = 'GET /v1/tenants HTTP/1.1\r\nHost: x\r\n\r\n';
  const refused =
    `POST /v1/tenants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  const next = 'GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const received = await exchange(gateway.url, refused + next);
  t.deepEqual(
    [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['401', '200'],
  );
  await unharmed(t, gateway);
});
