import { createHmac, timingSafeEqual } from 'node:crypto';
import test from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { access } from '../../../kernel/api/access.ts';
import { type Route, type RouteLimit, route } from '../../../kernel/api/route.ts';
import type { BodyAuthenticator } from '../../../kernel/auth/authenticator.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

const SECRET = 'the secret of the hook';
const sign = (body: string | Buffer) => createHmac('sha256', SECRET).update(body).digest('hex');

/** HMAC-signed hooks of the default tenant, as GitHub signs them. */
function hooks(asked: string[] = []): BodyAuthenticator {
  return {
    name: 'acme_hook',
    needsBody: true,
    places: [{ in: 'header', name: 'x-acme-signature' }],
    authenticate: ({ header, body, path }) => {
      asked.push(path);
      const given = Buffer.from(header('x-acme-signature') ?? '');
      const right = Buffer.from(sign(body));
      if (given.length !== right.length || !timingSafeEqual(given, right)) return { failure: 'invalid' };
      const tenantId = DEFAULT_TENANT_ID;
      return { identity: { id: 'acme', tenantId, roles: [], scopes: new Set(), method: 'acme_hook' } };
    },
  };
}

const hookRoute = (parts: Partial<Route>) =>
  route({
    method: 'POST',
    path: '/hooks/acme',
    access: access.credential('acme_hook'),
    summary: 'A hook',
    bodyType: 'raw',
    schema: { responses: { 200: Type.Unknown() } },
    handle: ({ rawBody, tenant, identity }) => ({
      body: rawBody!.toString('hex'),
      tenant: tenant.id,
      method: identity.method,
    }),
    ...parts,
  });

const gatewayOf = (routes: readonly Route[], asked: string[] = [], env: Record<string, string> = {}) =>
  startTestGateway({
    env,
    plugins: [
      testPlugin('acme', {
        setup(scope) {
          scope.authenticate(hooks(asked));
          scope.route(...routes);
        },
      }),
    ],
  });

async function post(
  { url }: TestGateway,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape
): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: Buffer.from(body), headers });
  return { status: answer.status, body: await answer.json() };
}

const BYTES = Buffer.from([0xff, 0x00, 0x7b, 0x0a]);

test('a raw body is the exact bytes, whatever the content type, and its HMAC is a credential', async (t) => {
  const asked: string[] = [];
  await using gateway = await gatewayOf([hookRoute({})], asked);
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'image/png']) {
    const headers = { 'content-type': type, 'x-acme-signature': sign(BYTES) };
    const answer = await post(gateway, '/hooks/acme', BYTES, headers);
    t.is(answer.status, 200, type);
    t.deepEqual(answer.body, { body: 'ff007b0a', tenant: DEFAULT_TENANT_ID, method: 'acme_hook' });
  }
  const wrong = await post(gateway, '/hooks/acme', BYTES, { 'x-acme-signature': sign('x') });
  t.deepEqual([wrong.status, wrong.body.code], [401, 'auth.invalid']);
  t.is((await post(gateway, '/hooks/acme', BYTES)).status, 401);
  t.is(asked.length, 4, 'requests without the header are not read ahead');
  const other = await gateway.request('/hooks/acme', { method: 'POST', body: 'x' });
  t.deepEqual([other.status, other.body.code], [403, 'auth.forbidden'], 'other credentials are no hooks');
});

test('a body that is signed is read once, and parsed for the handler', async (t) => {
  const json = hookRoute({
    path: '/hooks/json',
    bodyType: 'json',
    rawBody: true,
    schema: { body: Type.Object({ a: Type.Integer() }), responses: { 200: Type.Unknown() } },
    handle: ({ body, rawBody }) => ({ body, raw: rawBody!.toString() }),
  });
  const text = hookRoute({
    path: '/hooks/text',
    bodyType: 'text',
    schema: { body: Type.String(), responses: { 200: Type.Unknown() } },
    handle: ({ body, rawBody }) => ({ body, raw: rawBody ?? null }),
  });
  await using gateway = await gatewayOf([json, text]);
  const raw = '{ "a":  1 }';
  const signed = (body: string, type: string) => ({ 'content-type': type, 'x-acme-signature': sign(body) });
  const parsed = await post(gateway, '/hooks/json', raw, signed(raw, 'application/json'));
  t.deepEqual(parsed.body, { body: { a: 1 }, raw });
  const bad = await post(gateway, '/hooks/json', '{"a":"x"}', signed('{"a":"x"}', 'application/json'));
  t.deepEqual([bad.status, bad.body.errors[0].pointer], [400, '/body/a']);
  const said = await post(gateway, '/hooks/text', 'hello', signed('hello', 'text/plain'));
  t.deepEqual(said.body, { body: 'hello', raw: null });
});

test('bodies that are read ahead have the bounds of the route, and their room is given back', async (t) => {
  await using gateway = await gatewayOf([
    hookRoute({ bodyLimit: 200_000 }),
    hookRoute({ path: '/hooks/small', bodyLimit: 10 }),
  ]);
  const large = Buffer.alloc(150_000, 'x');
  const refused = await post(gateway, '/hooks/acme', large, { 'x-acme-signature': 'no' });
  t.is(refused.status, 401);
  t.is((await post(gateway, '/hooks/acme', large, { 'x-acme-signature': sign(large) })).status, 200);
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  t.regex(metrics, /^svc_http_body_bytes_in_flight 0$/m);
  const small = await post(gateway, '/hooks/small', large, { 'x-acme-signature': sign(large) });
  t.deepEqual([small.status, small.body.code], [413, 'request.too-large']);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(large);
      controller.close();
    },
  });
  const chunked = await fetch(`${gateway.url}/hooks/small`, {
    method: 'POST',
    body: stream,
    duplex: 'half',
    headers: { 'x-acme-signature': 'no' },
  } as RequestInit);
  t.is(chunked.status, 413);
});

test('an empty raw body is refused, unless the route takes it', async (t) => {
  const open = hookRoute({ path: '/hooks/empty', bodyOptional: true });
  await using gateway = await gatewayOf([hookRoute({}), open]);
  const headers = { 'x-acme-signature': sign('') };
  const refused = await post(gateway, '/hooks/acme', '', headers);
  t.deepEqual([refused.status, refused.body.errors[0].pointer], [400, '/body']);
  t.is((await post(gateway, '/hooks/empty', '', headers)).body.body, '');
});

test('a route counts by a key of its own, instead of by the address', async (t) => {
  const limited = (path: string, by: RouteLimit['by']) =>
    hookRoute({ path, access: access.public(), rateLimit: { perMinute: 3, by }, handle: () => ({}) });
  const routes = [
    limited('/in/{hook}', ({ params }) => (params.hook === 'none' ? undefined : params.hook)),
    limited('/by-header', ({ header }) => header('X-Hook')),
  ];
  await using gateway = await gatewayOf(routes, [], { SVC_ANON_RATE_LIMIT_RPM: '2' });
  const spend = async (path: string, count: number, headers: Record<string, string> = {}) => {
    const all: number[] = [];
    for (let sent = 0; sent < count; sent += 1) all.push((await post(gateway, path, 'x', headers)).status);
    return all;
  };
  t.deepEqual(await spend('/in/one', 4), [200, 200, 200, 429]);
  t.deepEqual(await spend('/in/two', 4), [200, 200, 200, 429], 'keys do not disturb each other');
  t.deepEqual(await spend('/by-header', 1, { 'x-hook': 'one' }), [200], 'nor do routes');
  t.deepEqual(await spend('/in/none', 3), [200, 200, 429], 'without a key it is the window of the address');
});

test('a route that counts by address takes a /64 network of IPv6, which one subscriber has, for one caller', async (t) => {
  const rateLimit: RouteLimit = { perMinute: 2, by: ({ address }) => address };
  const limited = hookRoute({ access: access.public(), rateLimit, handle: () => ({}) });
  await using gateway = await gatewayOf([limited], [], { SVC_TRUSTED_PROXIES: '127.0.0.1' });
  const from = async (address: string) =>
    (await post(gateway, '/hooks/acme', 'x', { 'x-forwarded-for': address })).status;
  t.deepEqual(
    [await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db8::3')],
    [200, 200, 429],
  );
  t.is(await from('2001:db8:0:1::1'), 200);
  t.is(await from('192.0.2.1'), 200);
});

test('a limit that is none fails the set-up', async (t) => {
  await using gateway = await gatewayOf([hookRoute({ rateLimit: { perMinute: 0, by: () => 'x' } })]);
  const { body } = await gateway.request('/admin/v1/plugins/acme');
  t.is(body.state, 'failed');
  t.regex(body.reason, /perMinute/);
});
