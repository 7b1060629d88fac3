import { once } from 'node:events';
import type http from 'node:http';
import net from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import { redactText } from '../../../../../foundation/observability/redact-text.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { shownUrl } from '../../../../../plugins/workflow/services/nodes/service-task.ts';
import { maskConfig } from '../../../../../plugins/workflow/services/views/redaction.ts';
import { recordedMetrics } from '../../../../support/metrics.ts';
import { until } from '../../../../support/until.ts';
import { CREDENTIAL, failureOf, redaction, stepTask } from './kit.ts';
import { startService } from './service-kit.ts';

/** A server that tells what it was asked. */
async function echo(request: http.IncomingMessage, response: http.ServerResponse) {
  const body = (await buffer(request)).toString();
  const { method, url, headers } = request;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ method, url, headers, body }));
}

const answers =
  (
    status: number,
    body: string | Buffer = '',
    headers: http.OutgoingHttpHeaders = {},
  ): http.RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
const JSON_TYPE = { 'content-type': 'application/json' };

/** A port of the loopback interface on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a task without method and body is a GET with the key of its attempt', async (t) => {
  const { run } = await startService(t, echo);
  const { output, record } = await run({ url: '/orders?limit=2' }, { stepRunId: 'step', attempt: 3 });
  t.is(output.method, 'GET');
  t.is(output.url, '/orders?limit=2');
  t.is((output.headers as Record<string, string>)['idempotency-key'], 'step-3');
  t.is(record?.status, 200);
  t.is(record?.method, 'GET');
  t.true((record?.bytes as number) > 0);
});

test('a body makes it a POST of JSON', async (t) => {
  const { run } = await startService(t, echo);
  const { output } = await run({ body: { name: 'Anna', tags: ['a'] }, headers: { 'X-Count': 3 } });
  const headers = output.headers as Record<string, string>;
  t.is(output.method, 'POST');
  t.deepEqual(JSON.parse(output.body as string), { name: 'Anna', tags: ['a'] });
  t.is(headers['content-type'], 'application/json');
  t.is(headers['x-count'], '3');
});

test('the method of the configuration counts, in any case, and a text goes as it is where the content type is not JSON', async (t) => {
  const { run } = await startService(t, echo);
  const { output } = await run({
    method: 'put',
    body: 'a=1&b=2',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  t.is(output.method, 'PUT');
  t.is(output.body, 'a=1&b=2');
  t.is((output.headers as Record<string, string>)['content-type'], 'application/x-www-form-urlencoded');
});

test('the key of the engine wins over one of the configuration', async (t) => {
  const { run } = await startService(t, echo);
  const { output } = await run(
    { headers: { 'IDEMPOTENCY-key': 'mine', 'idempotency-key': 'mine too' } },
    { stepRunId: 'step' },
  );
  t.is((output.headers as Record<string, string>)['idempotency-key'], 'step-1');
});

for (const [title, body, headers, expected] of [
  ['a JSON object is the output', '{"a":{"b":1}}', JSON_TYPE, { a: { b: 1 } }],
  [
    'a JSON object of a vendor type too',
    '{"a":1}',
    { 'content-type': 'application/vnd.api+json; charset=utf-8' },
    { a: 1 },
  ],
  ['a JSON object that calls itself text too', '{"a":1}', { 'content-type': 'text/json' }, { a: 1 }],
  ['a JSON object of any other kind too', '{"a":1}', { 'content-type': 'model/gltf+json' }, { a: 1 }],
  ['a JSON list becomes the body', '[1,2]', JSON_TYPE, { body: [1, 2] }],
  ['a JSON text becomes the body', '"hello"', JSON_TYPE, { body: 'hello' }],
  ['JSON null becomes the body', 'null', JSON_TYPE, { body: null }],
  ['what says that it is JSON and is not stays text', '{"a":', JSON_TYPE, { body: '{"a":' }],
  ['text becomes the body', 'hello', { 'content-type': 'text/plain' }, { body: 'hello' }],
  ['text that looks like JSON stays text', '{"a":1}', { 'content-type': 'text/plain' }, { body: '{"a":1}' }],
  [
    'text is read by its charset',
    Buffer.from([0xe9]),
    { 'content-type': 'text/plain; charset=ISO-8859-1' },
    { body: 'é' },
  ],
  ['UTF-8 without a content type is text', 'grün', {}, { body: 'grün' }],
  [
    'what is no text comes as base64',
    Buffer.from([0, 255, 1]),
    { 'content-type': 'image/png' },
    { body: 'AP8B', encoding: 'base64', content_type: 'image/png' },
  ],
  [
    'bytes without a content type come as base64',
    Buffer.from([0, 255, 1]),
    {},
    { body: 'AP8B', encoding: 'base64', content_type: 'application/octet-stream' },
  ],
  ['nothing is an empty output', '', JSON_TYPE, {}],
] as const) {
  test(title, async (t) => {
    const { run } = await startService(t, answers(200, body, headers));
    t.deepEqual((await run()).output, expected);
  });
}

test('204 is an empty output, and so is HEAD', async (t) => {
  const nothing = await startService(t, answers(204));
  t.deepEqual((await nothing.run()).output, {});
  const head = await startService(t, answers(200, '', JSON_TYPE));
  t.deepEqual((await head.run({ method: 'HEAD' })).output, {});
});

test('a member called __proto__ is data like any other', async (t) => {
  const { run } = await startService(t, answers(200, '{"__proto__":{"isAdmin":true}}', JSON_TYPE));
  const { output } = await run();
  t.true(Object.hasOwn(output, '__proto__'));
  t.is((output as { isAdmin?: unknown }).isAdmin, undefined);
  t.is(({} as { isAdmin?: unknown }).isAdmin, undefined);
});

for (const [status, isRetryable] of [
  [304, false],
  [400, false],
  [401, false],
  [403, false],
  [404, false],
  [408, true],
  [409, false],
  [422, false],
  [425, true],
  [429, true],
  [500, true],
  [501, true],
  [502, true],
  [503, true],
  [599, true],
] as const) {
  test(`${status} fails, and ${isRetryable ? 'may be tried again' : 'is final'}`, async (t) => {
    const { run, requests } = await startService(
      t,
      answers(status, status === 304 ? '' : '{"why":"no"}', JSON_TYPE),
    );
    const failure = await failureOf(t, run());
    t.is(failure.code, 'service_status');
    t.is(failure.isRetryable, isRetryable);
    t.is(failure.record?.status, status);
    t.true(failure.message.includes(String(status)));
    // Another attempt is the engine's, under another key.
    t.is(requests.length, 1);
  });
}

test('the beginning of a refusal helps the author, and Retry-After is noted and kept to', async (t) => {
  const { run } = await startService(
    t,
    answers(429, `{"error":\n "slow   down ${'x'.repeat(5_000)}"}`, { ...JSON_TYPE, 'retry-after': '17' }),
  );
  const failure = await failureOf(t, run());
  t.regex(
    failure.message,
    /^127\.0\.0\.1:\d+ answered 429 \(Too Many Requests\): \{"error": "slow down x+…$/,
  );
  t.true(failure.message.length < 400);
  t.is(failure.record?.retry_after, '17');
  t.is(failure.retryAfterMs, 17_000);
});

test('a refusal with a long body is a refusal, of which no more than the beginning is read', async (t) => {
  const { run, sockets } = await startService(t, (_request, response) => {
    response.writeHead(503, { 'content-type': 'text/plain', 'content-length': String(50 * 1024 * 1024) });
    response.write('x'.repeat(20 * 1024));
  });
  const failure = await failureOf(t, run());
  t.is(failure.code, 'service_status');
  t.true(failure.isRetryable);
  t.regex(failure.message, /: x+…$/);
  await until(() => sockets.every(({ destroyed }) => destroyed));
});

test('a refusal whose body breaks off is told by its status', async (t) => {
  const { run } = await startService(t, (_request, response) => {
    response.writeHead(500, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  const failure = await failureOf(t, run());
  t.is(failure.code, 'service_status');
  t.true(failure.isRetryable);
});

test('an answer of exactly 1 MiB passes, one byte more does not, whether it is announced or not', async (t) => {
  const most = 1024 * 1024;
  const { run } = await startService(t, (request, response) => {
    const size = most + (request.url === '/fits' ? 0 : 1);
    response.writeHead(200, {
      'content-type': 'text/plain',
      ...(request.url === '/announced' && { 'content-length': String(size) }),
    });
    response.end('x'.repeat(size));
  });
  t.is(((await run({ url: '/fits' })).output.body as string).length, most);
  for (const url of ['/announced', '/chunked']) {
    const failure = await failureOf(t, run({ url }));
    t.is(failure.code, 'response_too_large');
    t.false(failure.isRetryable);
    t.is(failure.record?.status, 200);
  }
});

test('an answer without an end is read as far as it may be, and the connection closed', async (t) => {
  const { run, sockets } = await startService(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
    };
    response.on('drain', write);
    write();
  });
  t.is((await failureOf(t, run())).code, 'response_too_large');
  await until(() => sockets.every(({ destroyed }) => destroyed));
});

test('an answer that grows when it is decoded is too large by what it grows to', async (t) => {
  const packed = gzipSync(Buffer.alloc(200 * 1024 * 1024, 'x'), { level: 1 });
  const { run } = await startService(
    t,
    answers(200, packed, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }),
  );
  t.is((await failureOf(t, run())).code, 'response_too_large');
});

test('an answer that is nested too deep is refused', async (t) => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  const { run } = await startService(t, answers(200, deep, JSON_TYPE));
  const failure = await failureOf(t, run());
  t.is(failure.code, 'response_too_deep');
  t.false(failure.isRetryable);
});

test('redirects are followed, five at most', async (t) => {
  const { run } = await startService(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) return answers(200, 'there', { 'content-type': 'text/plain' })(request, response);
    response.writeHead(307, { location: `/${left - 1}` });
    response.end();
  });
  const { output, record } = await run({ url: '/5', body: { a: 1 } });
  t.deepEqual(output, { body: 'there' });
  t.regex(String(record?.redirected_to), /\/0$/);
  const failure = await failureOf(t, run({ url: '/6' }));
  t.is(failure.code, 'too_many_redirects');
  t.false(failure.isRetryable);
});

test('a redirect to what egress refuses is denied', async (t) => {
  const { run, trail } = await startService(
    t,
    answers(302, '', { location: 'http://169.254.169.254/latest' }),
  );
  const failure = await failureOf(t, run());
  t.is(failure.code, 'egress_denied');
  t.is(trail.entries.length, 1);
});

test('credentials do not travel to another host, and the key does not either', async (t) => {
  const other = await startService(t, echo);
  const { run } = await startService(t, answers(307, '', { location: `${other.url}/moved` }), {
    env: { ACME_TOKEN: 'acme-secret-token' },
  });
  await run({ headers: { 'X-Api-Key': 'k' }, secret_headers: { Authorization: 'Bearer env:ACME_TOKEN' } });
  const [seen] = other.requests;
  t.is(seen?.headers.authorization, undefined);
  t.is(seen?.headers['x-api-key'], undefined);
});

test('loopback is refused unless the operator opens it, with words about whom to ask', async (t) => {
  const { run, requests, trail } = await startService(t, echo, { allowPrivate: [] });
  const failure = await failureOf(t, run({ url: '/secret-path?token=abc' }));
  t.is(failure.code, 'egress_denied');
  t.false(failure.isRetryable);
  t.regex(failure.message, /127\.0\.0\.1 .*loopback.*operator.*SVC_EGRESS_ALLOW_PRIVATE/);
  t.false(failure.message.includes('secret-path'));
  t.is(requests.length, 0);
  t.is(trail.entries[0]?.requestId, '01900000-0000-7000-8000-000000000051-1');
});

test('a server that does not answer in time fails the step, to be tried again', async (t) => {
  const { run, sockets } = await startService(t, () => {}, { timeoutMs: 100 });
  const failure = await failureOf(t, run());
  t.is(failure.code, 'service_timeout');
  t.true(failure.isRetryable);
  await until(() => sockets.every(({ destroyed }) => destroyed));
});

test('a body that does not end in time fails the step, to be tried again', async (t) => {
  const { run } = await startService(
    t,
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('half');
    },
    { timeoutMs: 100 },
  );
  const failure = await failureOf(t, run());
  t.is(failure.code, 'service_timeout');
  t.true(failure.isRetryable);
});

test('a body that breaks off fails the step, to be tried again', async (t) => {
  const { run } = await startService(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  const failure = await failureOf(t, run());
  t.is(failure.code, 'service_unreachable');
  t.true(failure.isRetryable);
});

test('who cannot be reached is told apart: name, connection, certificate', async (t) => {
  const unknown = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'queryA' });
  const { run, port } = await startService(t, echo, { resolve: () => Promise.reject(unknown) });
  for (const [url, code] of [
    ['https://nowhere.example.com/', 'service_dns'],
    [`http://127.0.0.1:${await closedPort()}/`, 'service_unreachable'],
    [`https://127.0.0.1:${port}/`, 'service_tls'],
  ] as const) {
    const failure = await failureOf(t, run({ url }));
    t.deepEqual([failure.code, failure.isRetryable], [code, true]);
    t.true(failure.message.includes(new URL(url).hostname));
  }
});

test('what is cancelled ends at once, with the reason of its signal', async (t) => {
  const end = new AbortController();
  const { run, requests } = await startService(t, () => {});
  const work = run({}, { signal: end.signal });
  await until(() => requests.length === 1);
  const reason = new Error('the run was cancelled');
  end.abort(reason);
  t.is(await t.throwsAsync(work), reason);
});

test('credentials in the URL and in a refusal are in neither record nor message', async (t) => {
  const { run } = await startService(t, answers(400, `bad ${CREDENTIAL}`, { 'content-type': 'text/plain' }));
  const failure = await failureOf(t, run({ url: `/a/${CREDENTIAL}?api_key=topsecret&page=2` }));
  const told = JSON.stringify([failure.message, failure.record]);
  t.false(told.includes(CREDENTIAL));
  t.false(told.includes('topsecret'));
  t.true(String(failure.record?.url).includes('page=2'));
});

test('a secret of the deployment is resolved when it is sent, and taken out of what comes back', async (t) => {
  const { run } = await startService(t, echo, { env: { ACME_TOKEN: 'acme"secret-token' } });
  const { output, record } = await run({ secret_headers: { Authorization: 'Bearer env:ACME_TOKEN' } });
  t.is((output.headers as Record<string, string>).authorization, 'Bearer [REDACTED:secret]');
  t.false(JSON.stringify([output, record]).includes('secret-token'));
});

for (const [how, type, text] of [
  [
    'with escapes of JSON',
    'application/json',
    '{"token": "acme\\/secret\\u002dtoken", "acme/secret-token": 1}',
  ],
  ['as JSON that is broken', 'application/json', '{"token": "acme/secret-token"'],
  ['as bytes', 'application/octet-stream', 'token=acme/secret-token'],
] as const) {
  test(`a secret that comes back ${how} is taken out too`, async (t) => {
    const { run } = await startService(t, answers(200, text, { 'content-type': type }), {
      env: { ACME_TOKEN: 'acme/secret-token' },
    });
    const { output } = await run({ secret_headers: { Authorization: 'env:ACME_TOKEN' } });
    const body = String(output.body ?? '');
    const told = `${JSON.stringify(output)} ${Buffer.from(body, 'base64')}`;
    t.false(told.includes('secret-token'), told);
    t.true(told.includes('[REDACTED:secret]'), told);
  });
}

test('data of a run cannot choose who gets a secret', async (t) => {
  const { type } = await startService(t, echo);
  const secret_headers = { Authorization: 'env:ACME_TOKEN' };
  const pointers = (url: string, secrets: object = secret_headers) =>
    type.check?.({ url, secret_headers: secrets } as JsonObject)?.map(({ pointer }) => pointer);
  for (const url of [
    '{{steps.agent.output.url}}',
    'https://{{input.host}}/x',
    'https://api.{{input.h}}',
    'https://api.example.com{{input.more}}',
    'https://api.example.com:{{input.port}}/',
  ]) {
    t.deepEqual(pointers(url), ['/secret_headers'], url);
    t.deepEqual(pointers(url, {}), [], url);
  }
  for (const url of [
    'https://api.example.com',
    'https://api.example.com/{{input.path}}',
    'HTTP://a?{{input.q}}',
    'https://api.example.com#{{input.f}}',
  ]) {
    t.deepEqual(pointers(url), [], url);
  }
});

test('the secret was really sent', async (t) => {
  const { run, requests } = await startService(t, answers(200), { env: { ACME_TOKEN: 'acme-secret-token' } });
  await run({
    headers: { authorization: 'other' },
    secret_headers: { Authorization: 'Bearer env:ACME_TOKEN', 'X-Api-Key': 'env:ACME_TOKEN' },
  });
  t.is(requests[0]?.headers.authorization, 'Bearer acme-secret-token');
  t.is(requests[0]?.headers['x-api-key'], 'acme-secret-token');
});

test('a refusal that repeats a secret does not bring it into the message', async (t) => {
  const { run } = await startService(t, answers(401, 'bad token acme-secret-token'), {
    env: { ACME_TOKEN: 'acme-secret-token' },
  });
  const failure = await failureOf(t, run({ secret_headers: { 'X-Token': 'env:ACME_TOKEN' } }));
  t.regex(failure.message, /bad token \[REDACTED:secret\]$/);
});

test('no tenant, the default one included, names more secrets than the operator lists', async (t) => {
  const { run, requests } = await startService(t, echo, { env: { DATABASE_URL: 'postgres://secret' } });
  const failure = await failureOf(t, run({ secret_headers: { Authorization: 'env:DATABASE_URL' } }));
  t.is(failure.code, 'secret_refused');
  t.false(failure.isRetryable);
  t.regex(failure.message, /SVC_TENANT_SECRETS/);
  t.is(requests.length, 0);
});

test('a secret that is bound goes to its host for its tenant, and to nobody else', async (t) => {
  const { tenantId } = stepTask({});
  const options = {
    env: { BOUND_KEY: 'bound-secret-value' },
    mayName: (port: number) => [`${tenantId}@127.0.0.1:${port}=BOUND_*`],
  };
  const other = await startService(t, echo);
  const { run, requests, url } = await startService(
    t,
    (request, response) =>
      request.url === '/away'
        ? response.writeHead(307, { location: `${other.url}/there` }).end()
        : answers(200)(request, response),
    options,
  );
  const secret_headers = { Authorization: 'Bearer env:BOUND_KEY' };
  await run({ secret_headers });
  t.is(requests[0]?.headers.authorization, 'Bearer bound-secret-value');

  const elsewhere = await failureOf(t, run({ url: other.url, secret_headers }));
  t.is(elsewhere.code, 'secret_refused');
  t.true(elsewhere.message.includes(`${new URL(url).host} alone, not to ${new URL(other.url).host}`));
  const foreign = { tenantId: '0190f000-0000-7000-8000-0000000000ff' };
  const refused = await failureOf(t, run({ secret_headers }, foreign));
  t.is(refused.code, 'secret_refused');
  t.regex(refused.message, /env:BOUND_KEY is not among what this tenant may name/);
  t.deepEqual([requests.length, other.requests.length], [1, 0], 'nothing was sent');

  const { output } = await run({ url: '/away', secret_headers });
  t.is(requests[1]?.headers.authorization, 'Bearer bound-secret-value');
  t.is(other.requests.length, 1);
  t.is(other.requests[0]?.headers.authorization, undefined, 'a redirect leaves it behind');
  t.false(JSON.stringify(output).includes('bound-secret-value'));
});

test('a secret that is not set fails the step, and nothing is sent', async (t) => {
  const { run, requests } = await startService(t, echo);
  const failure = await failureOf(t, run({ secret_headers: { Authorization: 'env:ACME_TOKEN' } }));
  t.is(failure.code, 'secret_unavailable');
  t.is(requests.length, 0);
});

test('a reference among ordinary headers is text: data of a run cannot name a secret', async (t) => {
  const { run } = await startService(t, echo, { env: { ACME_TOKEN: 'acme-secret-token' } });
  const { output } = await run({ headers: { Authorization: 'env:ACME_TOKEN' } });
  t.is((output.headers as Record<string, string>).authorization, 'env:ACME_TOKEN');
});

test('the type says no to secrets under names that redirects would carry elsewhere, and to what is no reference', async (t) => {
  const { type } = await startService(t, echo);
  const problems = type.check?.({
    url: 'https://api.example.com',
    secret_headers: {
      'X-Acme': 'env:ACME_TOKEN',
      Host: 'env:ACME_TOKEN',
      'Idempotency-Key': 'env:ACME_TOKEN',
      'Proxy-Authorization': 'env:ACME_TOKEN',
      Authorization: 'plain',
      'X-Api-Key': 'Bearer env:ACME_TOKEN',
    },
  });
  t.deepEqual(
    problems?.map(({ pointer }) => pointer),
    ['X-Acme', 'Host', 'Idempotency-Key', 'Proxy-Authorization', 'Authorization'].map(
      (name) => `/secret_headers/${name}`,
    ),
  );
  // Answers are redacted, and advice must not look like a credential.
  for (const { message } of problems ?? []) t.is(redactText(message), message);
});

test('a task for which egress has no room waits its turn and does not fail', async (t) => {
  const waiting: http.ServerResponse[] = [];
  const results: string[] = [];
  const { run } = await startService(t, (_request, response) => waiting.push(response), {
    bounds: { openPerTenant: 1 },
    metrics: recordedMetrics((_name, [result = '']) => void results.push(result)),
  });
  const first = run({ url: '/first' });
  await until(() => waiting.length === 1);
  const second = run({ url: '/second' });
  await until(() => results.includes('busy'));
  t.is(waiting.length, 1, 'nothing was sent while there was no room');
  waiting[0]!.end('a');
  t.is((await first).record?.status, 200);
  await until(() => waiting.length === 2);
  waiting[1]!.end('b');
  t.is((await second).record?.status, 200);
});

test('a task that waits for its turn ends with its deadline', async (t) => {
  const { run } = await startService(t, answers(200), { bounds: { openPerTenant: 0 } });
  const deadline = new AbortController();
  const task = run({}, { signal: deadline.signal });
  deadline.abort(new Error('over'));
  await t.throwsAsync(task, { message: 'over' });
});

for (const [given, shown] of [
  ['https://a.example.com/b?c=d', 'https://a.example.com/b?c=d'],
  ['https://user:pw@a.example.com/b#frag', 'https://a.example.com/b'],
  [
    'https://a.example.com/?api_key=x&Token=y&sig=z&q=1',
    'https://a.example.com/?api_key=[REDACTED]&Token=[REDACTED]&sig=[REDACTED]&q=1',
  ],
  [
    'https://a.example.com/?%74oken=x&sig%6Eature=y',
    'https://a.example.com/?token=[REDACTED]&signature=[REDACTED]',
  ],
  ['https://a.example.com/?q=a%20b&q=%26', 'https://a.example.com/?q=a%20b&q=%26'],
] as const) {
  test(`${given} is shown as ${shown}`, (t) => {
    t.is(shownUrl(new URL(given), redaction), shown);
    // The input of the step is shown beside it.
    const { url } = maskConfig({ url: given });
    for (const [name, value] of new URL(given).searchParams) {
      const isHidden = new URL(shown).searchParams.get(name) === '[REDACTED]';
      if (isHidden) t.false(String(url).includes(`=${value}`), `${name} in ${url}`);
    }
  });
}

test('a credential is taken out wherever it stands', (t) => {
  t.false(
    shownUrl(new URL(`https://a.example.com/${CREDENTIAL}?q=${CREDENTIAL}`), redaction).includes(CREDENTIAL),
  );
});

test('no URL is shown with more than 1,000 characters', (t) => {
  fc.assert(
    fc.property(
      fc.webUrl({ withQueryParameters: true, size: '=' }),
      fc.string({ minLength: 900, maxLength: 3_000 }),
      (url, more) => {
        t.true(
          shownUrl(new URL(`${url}/${encodeURIComponent(more.toWellFormed())}`), redaction).length <= 1_000,
        );
      },
    ),
    { numRuns: 15 },
  );
});
