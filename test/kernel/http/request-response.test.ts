import http from 'node:http';
import net from 'node:net';
import test from 'ava';
import Type from 'typebox';
import { defineErrors } from '../../../foundation/base/gateway-error.ts';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { type Route, route } from '../../../kernel/api/route.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { exchange, statusOf } from '../../support/raw-http.ts';

const Errors = defineErrors({
  taken: { code: 'thing.taken', kind: 'conflict', title: 'The name is taken' },
  odd: { code: 'thing.odd', kind: 'invalid', title: 'The thing is odd' },
});

const open = { access: access.public(), rateLimit: 'none', summary: 'a test route' } as const;

const routes: Route[] = [
  route({
    ...open,
    method: 'GET',
    path: '/cookies',
    handle: () => reply.empty(302, { location: '/', 'set-cookie': ['a=1', 'b=2; Path=/'] }),
  }),
  route({
    ...open,
    method: 'POST',
    path: '/things/{id}',
    bodyLimit: 1000,
    schema: {
      params: Type.Object({ id: Type.Integer() }),
      query: Type.Object({ limit: Type.Integer({ minimum: 0, default: 50 }) }),
      body: Type.Object({ name: Type.String(), size: Type.Optional(Type.Integer()) }),
    },
    handle: ({ params, query, body }) => reply.created({ id: params.id, limit: query.limit, body }),
  }),
  route({
    ...open,
    method: 'PUT',
    path: '/notes/{name}',
    bodyType: 'text',
    bodyLimit: 100,
    schema: { params: Type.Object({ name: Type.String() }), body: Type.String({ minLength: 1 }) },
    handle: ({ body }) => ({ length: body.length }),
  }),
  route({
    ...open,
    method: 'POST',
    path: '/odd',
    schema: {
      query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
      body: Type.Object({ name: Type.String() }),
    },
    refuse: (errors, body) =>
      Errors.odd(undefined, { errors: [...errors, { pointer: '/body', message: JSON.stringify(body) }] }),
    handle: () => ({}),
  }),
  route({
    ...open,
    method: 'POST',
    path: '/settings/{id}',
    schema: {
      params: Type.Object({ id: Type.Integer() }),
      body: Type.Object({ a: Type.Optional(Type.String()) }),
    },
    handle: ({ body }) => ({ got: body }),
  }),
  route({
    ...open,
    method: 'POST',
    path: '/optional',
    bodyOptional: true,
    schema: { body: Type.Object({ a: Type.Optional(Type.String()) }) },
    handle: ({ body }) => ({ got: body }),
  }),
  route({
    ...open,
    method: 'PUT',
    path: '/words',
    bodyType: 'text',
    bodyOptional: true,
    schema: { body: Type.String() },
    handle: ({ body }) => ({ got: body }),
  }),
  route({
    ...open,
    method: 'POST',
    path: '/bodiless',
    handle: ({ body }) => ({ got: body ?? null }),
  }),
  publicRoute('/taken', () => {
    throw Errors.taken('There is one called that already');
  }),
  publicRoute('/crash', () => {
    throw new Error('SELECT * FROM secrets WHERE password = 1');
  }),
  publicRoute('/empty', () => reply.empty()),
  publicRoute('/text', () => reply.text('plain')),
  ...(['openai', 'coze'] as const).map((errors) =>
    route({
      ...open,
      method: 'POST',
      path: `/${errors}`,
      errors,
      schema: { body: Type.Object({ messages: Type.Array(Type.Object({ role: Type.String() })) }) },
      handle: () => {
        throw Errors.taken();
      },
    }),
  ),
];

const plugin = testPlugin('things', { setup: (scope) => scope.route(...routes) });
let gateway: TestGateway;

test.before(async () => {
  gateway = await startTestGateway({ plugins: [plugin], env: { SVC_ANON_RATE_LIMIT_RPM: '100000' } });
});
test.after.always(() => gateway.stop());

test('input is validated, coerced and defaulted', async (t) => {
  const { status, body } = await gateway.request('/things/7?limit=3&unknown=x', {
    method: 'POST',
    body: { name: 'a', more: true },
  });
  t.is(status, 201);
  t.deepEqual(body, { id: 7, limit: 3, body: { name: 'a', more: true } });
});

test('an answer has as many headers of one name as its list, and the status that it was given', async (t) => {
  const response = await fetch(`${gateway.url}/cookies`, { redirect: 'manual' });
  t.is(response.status, 302);
  t.is(response.headers.get('location'), '/');
  t.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2; Path=/']);
});

test('every problem of a request is reported together, as RFC 9457', async (t) => {
  const { status, headers, body } = await gateway.request('/things/x?limit=-1', {
    method: 'POST',
    body: { size: 'big' },
    headers: { 'x-request-id': 'my-request' },
  });
  t.is(status, 400);
  t.is(headers.get('content-type'), 'application/problem+json');
  t.deepEqual(body, {
    type: 'about:blank',
    title: 'The request is not valid',
    status: 400,
    detail: 'The request is not valid',
    instance: 'my-request',
    code: 'request.invalid',
    errors: [
      { pointer: '/params/id', message: 'must be integer' },
      { pointer: '/query/limit', message: 'must be >= 0' },
      { pointer: '/body/name', message: 'is required' },
      { pointer: '/body/size', message: 'must be integer' },
    ],
  });
});

test('a route may refuse in words of its own what its schemas refuse, and nothing else', async (t) => {
  const refused = await gateway.request('/odd?limit=x', { method: 'POST', body: { name: 7 } });
  t.is(refused.status, 400);
  t.is(refused.body.code, 'thing.odd');
  t.deepEqual(refused.body.errors, [
    { pointer: '/query/limit', message: 'must be integer' },
    { pointer: '/body/name', message: 'must be string' },
    { pointer: '/body', message: '{"name":7}' },
  ]);
  t.is((await gateway.request('/odd', { method: 'POST', body: { name: 'a' } })).status, 200);
});

const MISSING = { pointer: '/body', message: 'is missing: send one as application/json' };
const NO_OBJECT = { pointer: '/body', message: 'must be object' };
const BAD_ID = { pointer: '/params/id', message: 'must be integer' };

for (const [what, framing, errors, whole] of [
  ['no body', '', [MISSING], false],
  ['no body, of a type', 'Content-Type: application/json\r\n\r\n', [MISSING], false],
  ['Content-Length: 0', 'Content-Length: 0\r\n\r\n', [MISSING], false],
  ['an empty chunked body', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', [MISSING], false],
  [
    'an empty chunked body of a type',
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    [MISSING],
    false,
  ],
  ['null', bodyOf('null'), [NO_OBJECT], false],
  ['a list', bodyOf('[]'), [NO_OBJECT], false],
  ['an empty string', bodyOf('""'), [NO_OBJECT], false],
  ['blanks', bodyOf(' \n'), undefined, undefined],
  ['an empty object', bodyOf('{}'), [], true],
] as const) {
  test(`where a body is needed, ${what} is no empty object`, async (t) => {
    const head = 'Host: x\r\nConnection: close\r\n';
    const rest = framing === '' ? '\r\n' : framing;
    const send = async (path: string) => {
      const answer = await exchange(gateway.url, `POST ${path} HTTP/1.1\r\n${head}${rest}`);
      return { status: statusOf(answer), body: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) };
    };
    const [needed, optional] = [await send('/settings/x'), await send('/optional')];
    if (errors === undefined) {
      for (const { status, body } of [needed, optional])
        t.deepEqual([status, body.code], [400, 'request.malformed']);
      return;
    }
    t.is(needed.status, 400);
    t.deepEqual(needed.body.errors, [BAD_ID, ...errors], 'together with what else is wrong');
    const isAbsent = errors[0] === MISSING;
    t.is(optional.status, isAbsent || whole ? 200 : 400);
    if (optional.status === 200) t.deepEqual(optional.body, { got: {} });
    else t.deepEqual(optional.body.errors, errors);
  });
}

test('a missing body is told in the words of the route, and in its dialect', async (t) => {
  const post = (path: string) => gateway.request(path, { method: 'POST' });
  const odd = await post('/odd?limit=x');
  t.is(odd.body.code, 'thing.odd');
  t.deepEqual(odd.body.errors.slice(0, 2), [
    { pointer: '/query/limit', message: 'must be integer' },
    MISSING,
  ]);
  const openai = await post('/openai');
  t.is(openai.status, 400);
  t.like(openai.body.error, {
    message: 'The request is not valid: body is missing: send one as application/json',
    param: 'body',
  });
  t.is(
    (await post('/coze')).body.msg,
    'The request is not valid: body is missing: send one as application/json',
  );
});

test('a text that is missing is refused, and may be empty only where the route says so', async (t) => {
  for (const body of [undefined, '']) {
    const { status, body: answer } = await gateway.request('/notes/a', { method: 'PUT', body });
    t.is(status, 400);
    t.deepEqual(answer.errors, [{ pointer: '/body', message: 'is missing: send one as text/plain' }]);
    t.deepEqual((await gateway.request('/words', { method: 'PUT', body })).body, { got: '' });
  }
});

test('a route that takes no body ignores one, whatever it is', async (t) => {
  for (const body of [undefined, {}, 'null', '{"broken": ']) {
    t.deepEqual((await gateway.request('/bodiless', { method: 'POST', body })).body, { got: null });
  }
});

function bodyOf(text: string): string {
  return `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

const json = { 'content-type': 'application/json' };
const LATIN_1 = Buffer.from('{"name": "Zo\u00eb"}', 'latin1');
const refusals = [
  ['malformed JSON', '{"name": ', json, 400, 'request.malformed'],
  [
    'another content type',
    'name=a',
    { 'content-type': 'application/x-www-form-urlencoded' },
    415,
    'request.unsupported-media',
  ],
  ['a compressed body', 'xx', { ...json, 'content-encoding': 'gzip' }, 415, 'request.unsupported-media'],
  ['a body above the limit', JSON.stringify({ name: 'a'.repeat(1000) }), json, 413, 'request.too-large'],
] as const;

for (const [what, type, bytes, status, code] of [
  [
    'a charset that is named UTF-8',
    'application/json; charset="utf-8"',
    '{"name": "Zo\u00eb"}',
    200,
    undefined,
  ],
  ['a byte order mark', 'application/json', '\ufeff{"name": "Zo\u00eb"}', 200, undefined],
  ['a body that is not UTF-8', 'application/json', LATIN_1, 400, 'request.malformed'],
  ['another charset', 'application/json; charset=ISO-8859-1', LATIN_1, 415, 'request.unsupported-media'],
] as const) {
  test(`${what} is ${status}`, async (t) => {
    const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': type };
    const answer = await fetch(`${gateway.url}/things/1`, { method: 'POST', headers, body: bytes });
    const body = (await answer.json()) as { code?: string };
    t.is(answer.ok ? 200 : answer.status, status, JSON.stringify(body));
    t.is(body.code, code);
  });
}

for (const [what, body, headers, status, code] of refusals) {
  test(`${what} is ${status}`, async (t) => {
    const answer = await gateway.request('/things/1', { method: 'POST', body, headers });
    t.is(answer.status, status);
    t.is(answer.body.code, code);
  });
}

test('a chunked body above the limit is refused before it is read to its end', async (t) => {
  const { status } = await new Promise<{ status: number | undefined }>((resolve, reject) => {
    const request = http.request(`${gateway.url}/things/1`, { method: 'POST', headers: json }, (response) => {
      response.resume();
      resolve({ status: response.statusCode });
    });
    request.on('error', reject);
    request.write(`{"name": "${'a'.repeat(5000)}`);
  });
  t.is(status, 413);
});

test('a text body is taken as text, and nothing else is', async (t) => {
  const put = { method: 'PUT', headers: { 'content-type': 'text/plain' } };
  t.deepEqual((await gateway.request('/notes/a', { ...put, body: 'hello' })).body, { length: 5 });
  t.is((await gateway.request('/notes/a', { method: 'PUT', body: { a: 1 } })).status, 415);
  t.is((await gateway.request('/notes/a', { ...put, body: 'x'.repeat(101) })).status, 413);
});

test('an unknown path is 404 for everybody, a wrong method 405 with Allow', async (t) => {
  t.is((await gateway.request('/nowhere')).status, 404);
  t.is((await gateway.request('/nowhere', { token: null })).body.code, 'path.not-found');
  const { status, headers } = await gateway.request('/empty', { method: 'DELETE' });
  t.is(status, 405);
  t.is(headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('an unknown path is named, also where clients of OpenAI and Coze look for an error', async (t) => {
  const { body, headers } = await gateway.request('/v1/responses', { method: 'POST', body: {} });
  t.is(headers.get('content-type'), 'application/problem+json');
  t.like(body, { code: 'path.not-found', detail: 'There is no POST /v1/responses' });
  const error = { message: body.detail, type: 'not_found_error', param: null, code: body.code };
  t.deepEqual(body.error, error);
  t.is(body.msg, body.detail);
});

test('HEAD answers like GET without a body', async (t) => {
  const { status, headers, body } = await gateway.request('/text', { method: 'HEAD' });
  t.is(status, 200);
  t.is(headers.get('content-length'), '5');
  t.is(body, '');
});

test('what a handler logs names its plugin, the request and who is calling', async (t) => {
  const logs = route({
    method: 'GET',
    path: '/logs',
    access: access.role('user'),
    summary: 'a test route',
    handle: ({ log }) => void log.info('from the handler'),
  });
  const acme = testPlugin('acme', { setup: (scope) => scope.route(logs) });
  await using own = await startTestGateway({ plugins: [acme] });
  const { headers } = await own.request('/logs');
  const line = own.logs().find((text) => text.includes('from the handler'))!;
  t.like(JSON.parse(line), {
    plugin: 'acme',
    requestId: headers.get('x-request-id'),
    identity: 'static-token',
  });
});

test('an error of ours tells its code; of anything else no word reaches the client', async (t) => {
  const taken = await gateway.request('/taken');
  t.is(taken.status, 409);
  t.is(taken.body.code, 'thing.taken');
  t.is(taken.body.detail, 'There is one called that already');
  t.is(taken.headers.get('x-should-retry'), 'false');
  const crash = await gateway.request('/crash');
  t.is(crash.status, 500);
  t.deepEqual(
    { code: crash.body.code, detail: crash.body.detail },
    { code: 'internal', detail: 'Something went wrong inside the gateway' },
  );
  t.false(JSON.stringify(crash.body).includes('SELECT'));
  t.true(gateway.logs().some((line) => line.includes('SELECT * FROM secrets')));
});

test('the openai dialect', async (t) => {
  const invalid = await gateway.request('/openai', { method: 'POST', body: { messages: [{}] } });
  t.is(invalid.status, 400);
  t.deepEqual(invalid.body, {
    error: {
      message: 'The request is not valid: messages[0].role is required',
      type: 'invalid_request_error',
      param: 'messages[0].role',
      code: 'request.invalid',
    },
  });
  const taken = await gateway.request('/openai', { method: 'POST', body: { messages: [] } });
  t.deepEqual([taken.status, taken.body.error.code], [409, 'thing.taken']);
});

test('the coze dialect', async (t) => {
  const { status, headers, body } = await gateway.request('/coze', {
    method: 'POST',
    body: {},
    headers: { 'x-request-id': 'r-1' },
  });
  t.is(status, 400);
  t.deepEqual(body, {
    code: 4000,
    msg: 'The request is not valid: messages is required',
    detail: { logid: 'r-1' },
  });
  t.is(headers.get('x-tt-logid'), 'r-1');
});

test('a well-formed X-Request-ID is kept, any other replaced', async (t) => {
  const send = async (id: string) =>
    (await gateway.request('/text', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
  t.is(await send('abc-1.2_3'), 'abc-1.2_3');
  t.regex((await send('not valid!')) ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  t.regex((await send('a'.repeat(129))) ?? '', /^[0-9a-f]{8}-/);
});

test('CORS is silent unless configured, and OPTIONS is 204', async (t) => {
  const { status, headers } = await gateway.request('/text', {
    method: 'OPTIONS',
    token: null,
    headers: { origin: 'https://a.example' },
  });
  t.is(status, 204);
  t.is(headers.get('access-control-allow-origin'), null);
});

test('CORS with a list allows its origins with credentials', async (t) => {
  await using listed = await startTestGateway({
    plugins: [plugin],
    env: { SAAS_ALLOWED_ORIGINS: 'https://a.example,https://b.example' },
  });
  const ask = (origin: string, method = 'GET') => listed.request('/text', { method, headers: { origin } });
  const { headers } = await ask('https://a.example', 'OPTIONS');
  t.is(headers.get('access-control-allow-origin'), 'https://a.example');
  t.is(headers.get('access-control-allow-credentials'), 'true');
  t.is(headers.get('access-control-allow-methods'), 'GET, POST, PUT, DELETE, OPTIONS');
  t.is(
    headers.get('access-control-allow-headers'),
    'Authorization, Content-Type, X-Svc-Session-Id, X-Svc-User-Id',
  );
  t.is(
    headers.get('access-control-expose-headers'),
    'X-Request-ID, X-Svc-Session-Id, X-RateLimit-Limit, X-RateLimit-Remaining, Retry-After, X-Should-Retry',
  );
  const other = await ask('https://evil.example');
  t.is(other.headers.get('access-control-allow-origin'), null);
  t.is(other.headers.get('vary'), 'Origin');
});

test('CORS with * never allows credentials', async (t) => {
  await using any = await startTestGateway({ plugins: [plugin], env: { SAAS_ALLOWED_ORIGINS: '*' } });
  const { headers } = await any.request('/text', { headers: { origin: 'https://a.example' } });
  t.is(headers.get('access-control-allow-origin'), '*');
  t.is(headers.get('access-control-allow-credentials'), null);
});

test('a malformed request is 400 and the connection is closed', async (t) => {
  const { port } = new URL(gateway.url);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(Number(port), '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
  t.regex(answer, /^HTTP\/1\.1 400/);
});
