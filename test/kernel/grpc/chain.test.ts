import test from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { type Access, access } from '../../../kernel/api/access.ts';
import { type GrpcEffect, grpcMethod, grpcService } from '../../../kernel/api/grpc.ts';
import { route } from '../../../kernel/api/route.ts';
import { send } from '../../support/request.ts';
import { until } from '../../support/until.ts';
import { type GrpcTest, notesService, OTHER_PROTO, startGrpc, TOKEN } from './kit.ts';

const RULES: readonly (readonly [name: string, rule: Access])[] = [
  ['public', access.public()],
  ['open', access.open()],
  ['open-skills', access.open(['skills:*'])],
  ['authenticated', access.authenticated()],
  ['credential', access.credential('static_token')],
  ['user', access.role('user')],
  ['auditor', access.role('auditor')],
  ['admin-execute', access.role('admin', { scopes: ['execute'] })],
  ['governance', access.governance(['billing:*'])],
  ['break-glass', access.governance([])],
  ['operators', access.governance(['ops:*'], { operator: true })],
];

/** Keys of one tenant that is not the default one. */
async function keysOf(grpc: GrpcTest): Promise<ReadonlyMap<string, string | null>> {
  const { tenants, apiKeys } = grpc.authentication;
  const { id } = await tenants.create({ name: 'ours', rateLimitRpm: 1_000_000 });
  await tenants.update(DEFAULT_TENANT_ID, { rateLimitRpm: 1_000_000 });
  const keys = new Map<string, string | null>([
    ['nobody', null],
    ['the operator', TOKEN],
    ['a wrong key', 'hk_0123456789abcdefghijklmnopqrstuvwxyz'],
    ['an unknown token', 'whoever'],
  ]);
  const made: readonly (readonly [string, string[], string[]])[] = [
    ['a reader', ['user'], ['read']],
    ['a writer', ['user'], ['write']],
    ['a runner', ['user'], ['execute']],
    ['a legacy key', ['user'], []],
    ['an admin', ['admin'], ['read', 'write', 'execute']],
    ['an owner', ['owner'], ['read']],
    ['an auditor', ['auditor'], ['read']],
    ['billing', ['billing'], ['read', 'write']],
    ['break-glass', ['admin'], ['admin']],
  ];
  for (const [name, roles, scopes] of made) {
    const settings = { tenantId: id, name, roles, scopes, expiresAt: null, createdBy: null };
    keys.set(name, (await apiKeys.create(settings)).key);
  }
  return keys;
}

for (const anonymousAllowed of [undefined, true, false]) {
  test(`every credential gets from every rule what it gets over HTTP (anonymous: ${anonymousAllowed})`, async (t) => {
    const methods: readonly (readonly [GrpcEffect, 'GET' | 'POST'])[] = [
      ['read', 'GET'],
      ['write', 'POST'],
    ];
    const routes = RULES.flatMap(([name, rule]) =>
      methods.map(([effect, method]) =>
        route({ method, path: `/${name}/${effect}`, access: rule, summary: name, handle: () => ({}) }),
      ),
    );
    await using grpc = await startGrpc({ anonymousAllowed, routes, rates: { anonymous: 1_000_000 } });
    const keys = await keysOf(grpc);
    const ping = grpc.client({ proto: OTHER_PROTO, service: 'svc.notes.v1.PingService', token: null });
    let compared = 0;
    for (const [name, rule] of RULES) {
      for (const [effect] of methods) {
        // One rule at a time under one name, as a plugin that is replaced again and again.
        grpc.server.prepare([
          grpc.compile(
            grpcService({
              proto: OTHER_PROTO,
              service: 'svc.notes.v1.PingService',
              methods: { Ping: grpcMethod({ access: rule, effect, summary: name, handle: () => ({}) }) },
            }),
          ),
        ])();
        for (const [who, token] of keys) {
          for (const forwarded of [undefined, '203.0.113.9']) {
            const metadata: Record<string, string> =
              forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
            const http = await send(`${grpc.url}/${name}/${effect}`, {
              method: effect === 'read' ? 'GET' : 'POST',
              headers: metadata,
              token,
            });
            const rpc = await ping.call('Ping', {}, { token, metadata });
            const wanted = http.status === 200 ? 'OK' : (http.body.code as string);
            const got = rpc.code === 'OK' ? 'OK' : rpc.metadata['svc-error-code'];
            t.is(got, wanted, `${who} ${effect} ${name} ${forwarded}: ${rpc.details}`);
            compared += 1;
          }
        }
      }
    }
    t.true(compared > 500);
  });
}

test('a method that runs something asks for execute, unless its rule names scopes', async (t) => {
  const user = (scopes?: string[]) => access.role('user', scopes === undefined ? {} : { scopes });
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: { access: user(), effect: 'execute' },
        Tail: { access: user(['read']), effect: 'execute' },
        KeepNotes: { access: user() },
      }),
    ],
  });
  const keys = await keysOf(grpc);
  const codes = async (who: string) => {
    const client = grpc.client({ token: keys.get(who)! });
    const answers = await Promise.all([
      client.call('GetNote'),
      client.call('Tail'),
      client.call('KeepNotes', []),
    ]);
    return answers.map(({ code }) => code);
  };
  t.deepEqual(await codes('a runner'), ['OK', 'PERMISSION_DENIED', 'PERMISSION_DENIED']);
  t.deepEqual(await codes('a reader'), ['PERMISSION_DENIED', 'OK', 'PERMISSION_DENIED']);
  t.deepEqual(await codes('a writer'), ['PERMISSION_DENIED', 'PERMISSION_DENIED', 'OK']);
});

test('what is refused is refused before anything of the call is read', async (t) => {
  await using grpc = await startGrpc();
  const call = grpc.client({ token: 'hk_0123456789abcdefghijklmnopqrstuvwxyz' }).open('Chat');
  // Nothing is sent: the answer does not wait for a message.
  t.is((await call.answer).code, 'UNAUTHENTICATED');
  t.is((await call.answer).metadata['www-authenticate'], 'Bearer error="invalid_token"');
});

test('unknown services and methods are unimplemented for everybody, limited and recorded', async (t) => {
  await using grpc = await startGrpc({ rates: { anonymous: 2 } });
  const nobody = grpc.client({ token: null });
  t.is((await nobody.call('Nothing')).code, 'UNIMPLEMENTED');
  t.is((await nobody.call('Nothing')).metadata['svc-error-code'], 'path.not-found');
  const third = await nobody.call('Nothing');
  t.is(third.code, 'RESOURCE_EXHAUSTED');
  t.is((await grpc.client().call('Nothing')).code, 'UNIMPLEMENTED');
  const entries = await grpc.audited();
  t.deepEqual(
    entries.map(({ action, statusCode, tenantId, errorCode }) => [action, statusCode, tenantId, errorCode]),
    [
      ['GRPC /svc.notes.v1.NotesService/Nothing', 404, '', 'path.not-found'],
      ['GRPC /svc.notes.v1.NotesService/Nothing', 404, '', 'path.not-found'],
      ['GRPC /svc.notes.v1.NotesService/Nothing', 404, DEFAULT_TENANT_ID, 'path.not-found'],
    ],
  );
  t.regex(
    await grpc.metrics.text(),
    /svc_grpc_requests_total\{method="unmatched",code="UNIMPLEMENTED",tenant_id="anonymous"\} 2/,
  );
});

test('a well-formed x-request-id is kept, any other replaced, and the answer tells it', async (t) => {
  await using grpc = await startGrpc();
  const client = grpc.client();
  const idOf = async (given: string, method = 'GetNote') =>
    (await client.call(method, {}, { metadata: { 'x-request-id': given } })).metadata['x-request-id'];
  t.is(await idOf('my-id.7'), 'my-id.7');
  t.is(await idOf('my-id.7', 'Nothing'), 'my-id.7');
  for (const bad of ['hk_secret', 'with blank', 'x'.repeat(129)])
    t.regex((await idOf(bad))!, /^[0-9a-f-]{36}$/);
});

test('windows are shared with HTTP, and the answer tells what is left', async (t) => {
  const routes = [
    route({ method: 'GET', path: '/x', access: access.authenticated(), summary: 'x', handle: () => ({}) }),
  ];
  await using grpc = await startGrpc({ routes });
  const { tenants, apiKeys } = grpc.authentication;
  const { id } = await tenants.create({ name: 'small', rateLimitRpm: 4 });
  const settings = { tenantId: id, name: 'k', roles: ['user'], scopes: [], expiresAt: null, createdBy: null };
  const { key } = await apiKeys.create(settings);
  const client = grpc.client({ token: key });
  const first = await client.call('GetNote');
  t.deepEqual([first.metadata['x-ratelimit-limit'], first.metadata['x-ratelimit-remaining']], ['4', '3']);
  t.is((await send(`${grpc.url}/x`, { token: key })).headers.get('x-ratelimit-remaining'), '2');
  t.is((await client.call('GetNote')).metadata['x-ratelimit-remaining'], '1');
  t.is((await send(`${grpc.url}/x`, { token: key })).status, 200);
  t.is((await send(`${grpc.url}/x`, { token: key })).status, 429);
  const refused = await client.call('GetNote');
  t.is(refused.code, 'RESOURCE_EXHAUSTED');
  t.like(refused.metadata, {
    'retry-after': '60',
    'svc-error-code': 'limit.rate',
    'x-ratelimit-remaining': '0',
  });
  t.regex(
    await grpc.metrics.text(),
    new RegExp(`svc_rate_limit_rejected_total\\{tenant_id="${id}",window="tenant"\\} 2`),
  );
});

test('the address of a caller without a credential is limited, behind trusted proxies each for itself', async (t) => {
  const routes = [
    route({ method: 'GET', path: '/x', access: access.public(), summary: 'x', handle: () => ({}) }),
  ];
  await using grpc = await startGrpc({
    routes,
    trustedProxies: ['loopback'],
    rates: { anonymous: 2 },
    services: [notesService({ GetNote: { access: access.public() } })],
  });
  const client = grpc.client({ token: null });
  const from = async (address: string) =>
    (await client.call('GetNote', {}, { metadata: { 'x-forwarded-for': address } })).code;
  t.is(await from('198.51.100.1'), 'OK');
  t.is((await send(`${grpc.url}/x`, { headers: { 'x-forwarded-for': '198.51.100.1' } })).status, 200);
  t.is(await from('198.51.100.1'), 'RESOURCE_EXHAUSTED');
  t.is(await from('198.51.100.2'), 'OK');
});

test('the users of a credential are counted apart, by x-svc-user-id', async (t) => {
  await using grpc = await startGrpc({ rates: { user: 1 } });
  const client = grpc.client();
  const as = async (user: string) =>
    (await client.call('GetNote', {}, { metadata: { 'x-svc-user-id': user } })).code;
  t.deepEqual([await as('ada'), await as('ada'), await as('grace')], ['OK', 'RESOURCE_EXHAUSTED', 'OK']);
});

test('open streams of one user are bounded, and shared with HTTP', async (t) => {
  await using grpc = await startGrpc({
    maxStreamsPerUser: 1,
    services: [notesService({ Chat: { countsAsStream: true } })],
  });
  const client = grpc.client();
  const metadata = { 'x-svc-user-id': 'ada' };
  const first = client.open('Chat', { metadata });
  first.send({ text: 'a' });
  await first.messages.next();
  const second = await client.call('Chat', [], { metadata });
  t.is(second.code, 'RESOURCE_EXHAUSTED');
  t.like(second.metadata, { 'svc-error-code': 'limit.streams', 'retry-after': '30' });
  t.throws(() =>
    grpc.parts.streams.acquire(
      { identity: { tenantId: DEFAULT_TENANT_ID, id: 'static-token' } as never },
      'ada',
    ),
  );
  t.is((await client.call('Chat', [])).code, 'OK');
  first.end();
  await first.answer;
  await until(async () => (await client.call('Chat', [], { metadata })).code === 'OK', 10_000);
  t.pass();
});

test('a call is recorded: who, what, from where, which fields, and its HTTP status', async (t) => {
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: {
          handle: (call) => {
            call.audit({ sessionId: 'session-1' });
            return {};
          },
        },
      }),
    ],
  });
  const metadata = { 'x-svc-user-id': 'ada', 'x-request-id': 'r1' };
  await grpc.client().call('GetNote', { id: 'secret', extra: { a: 1 } }, { metadata });
  const [entry] = await grpc.audited();
  t.like(entry, {
    tenantId: DEFAULT_TENANT_ID,
    userId: 'static-token',
    action: 'GRPC /svc.notes.v1.NotesService/GetNote',
    detail: { svc_user_id: 'ada', body_fields: ['id', 'extra'] },
    requestId: 'r1',
    statusCode: 200,
    sessionId: 'session-1',
    sourceIp: '127.0.0.1',
    authMethod: 'static_token',
    errorCode: undefined,
  });
  t.regex(entry!.userAgent!, /^grpc-node/);
});

test('a failed credential is recorded with whose it was, an anonymous call of a known method is not', async (t) => {
  await using grpc = await startGrpc({ anonymousAllowed: true });
  const settings = {
    tenantId: DEFAULT_TENANT_ID,
    name: 'k',
    roles: ['user'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  };
  const { key, record } = await grpc.authentication.apiKeys.create(settings);
  await grpc.authentication.apiKeys.revoke(record.id);
  t.is((await grpc.client({ token: key }).call('GetNote')).code, 'UNAUTHENTICATED');
  t.is((await grpc.client({ token: null }).call('GetNote')).code, 'UNAUTHENTICATED');
  const entries = await grpc.audited();
  t.is(entries.length, 1);
  t.like(entries[0], {
    tenantId: DEFAULT_TENANT_ID,
    userId: record.id,
    errorCode: 'AUTH_FAILED',
    statusCode: 401,
  });
});

test('the record is in the journal before the response leaves', async (t) => {
  await using grpc = await startGrpc();
  const { promise, resolve } = Promise.withResolvers<void>();
  const { trail } = grpc.parts;
  const record = trail.record.bind(trail);
  let isRecording = false;
  let isRecorded = false;
  trail.record = async (entry) => {
    isRecording = true;
    await promise;
    isRecorded = true;
    return record(entry);
  };
  const call = grpc.client().open('GetNote');
  let isAnswered = false;
  void call.messages.next().then(() => {
    isAnswered = true;
  });
  call.send({ id: '1' });
  call.end();
  await until(() => isRecording, 10_000);
  // Long enough for a response that did not wait.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  t.false(isAnswered);
  resolve();
  await until(() => isAnswered, 10_000);
  t.true(isRecorded);
});

test('a full audit trail refuses calls rather than serve them unrecorded', async (t) => {
  await using grpc = await startGrpc();
  let isServed = false;
  grpc.server.prepare([
    grpc.compile(
      notesService({
        GetNote: {
          handle: () => {
            isServed = true;
          },
        },
      }),
    ),
  ])();
  grpc.parts.trail.room = () => Promise.reject(new Error('full'));
  const answer = await grpc.client().call('GetNote');
  t.is(answer.code, 'UNAVAILABLE');
  t.like(answer.metadata, { 'svc-error-code': 'gateway.overloaded', 'retry-after': '5' });
  t.false(isServed);
});

test('calls are counted by method, status and tenant, and logged in one line', async (t) => {
  await using grpc = await startGrpc();
  const client = grpc.client();
  await client.call('GetNote');
  await client.call('GetNote');
  await client.call('GetNote', []);
  await until(() => grpc.logs().filter((line) => line.includes('"method":"GRPC"')).length === 3, 10_000);
  const text = await grpc.metrics.text();
  const labels = `method="svc.notes.v1.NotesService/GetNote",code="OK",tenant_id="${DEFAULT_TENANT_ID}"`;
  t.true(text.includes(`svc_grpc_requests_total{${labels}} 2`));
  t.true(text.includes(`svc_grpc_requests_total{${labels.replace('OK', 'INVALID_ARGUMENT')}} 1`));
  t.regex(
    text,
    /svc_grpc_request_duration_seconds_count\{method="svc.notes.v1.NotesService\/GetNote",tenant_id="[^"]*"\} 3/,
  );
  t.regex(text, /svc_grpc_requests_in_flight 0/);
  const line = grpc.logs().find((one) => one.includes('"method":"GRPC"'))!;
  t.like(JSON.parse(line), {
    path: '/svc.notes.v1.NotesService/GetNote',
    status: 200,
    identity: 'static-token',
  });
});

test('requests that do not match the schema are invalid, and every field is named', async (t) => {
  const request = Type.Object({
    id: Type.String({ minLength: 1 }),
    extra: Type.Object({ depth: Type.Integer({ minimum: 1 }) }),
  });
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { request } })] });
  const client = grpc.client();
  const { code, details, violations, metadata } = await client.call('GetNote', { extra: { depth: 0 } });
  t.is(code, 'INVALID_ARGUMENT');
  t.is(metadata['svc-error-code'], 'request.invalid');
  t.deepEqual(violations, [
    { field: 'id', description: 'must have at least 1 character' },
    { field: 'extra.depth', description: 'must be >= 1' },
  ]);
  for (const { field } of violations) t.true(details.includes(field));
  t.is((await client.call('GetNote', { id: 'x' })).violations[0]!.field, 'extra');
  t.is((await client.call('GetNote', { id: 'x', extra: { depth: 2 } })).code, 'OK');
});

test('each message of a stream is validated', async (t) => {
  const request = Type.Object({ text: Type.String({ minLength: 1 }) });
  await using grpc = await startGrpc({ services: [notesService({ KeepNotes: { request } })] });
  const answer = await grpc.client().call('KeepNotes', [{ text: 'a' }, { text: '' }]);
  t.deepEqual([answer.code, answer.violations.map(({ field }) => field)], ['INVALID_ARGUMENT', ['text']]);
});

test('a handler has everything that a call has', async (t) => {
  let seen: Record<string, unknown> = {};
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: {
          handle: (call) => {
            call.header('x-tag', 'one');
            call.trailer('x-end', 'two');
            seen = {
              identity: call.identity.id,
              tenant: call.tenant.id,
              userId: call.userId,
              requestId: call.requestId,
              address: call.source.address,
              isLoopback: call.source.isLoopback,
              own: call.metadata('x-own'),
              absent: call.metadata('x-absent'),
              trace: call.traceHeaders().traceparent,
              entities: typeof call.entities().find,
            };
            t.throws(() => call.header('grpc-status', '1'), { message: /reserved/ });
            t.throws(() => call.trailer('connection', 'close'), { message: /reserved/ });
            return {};
          },
        },
      }),
    ],
  });
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const metadata = { 'x-svc-user-id': 'ada', 'x-request-id': 'r', 'x-own': 'mine', traceparent: trace };
  const answer = await grpc.client().call('GetNote', {}, { metadata });
  t.like(answer.metadata, { 'x-tag': 'one', 'x-end': 'two' });
  t.deepEqual(seen, {
    identity: 'static-token',
    tenant: DEFAULT_TENANT_ID,
    userId: 'ada',
    requestId: 'r',
    address: '127.0.0.1',
    isLoopback: true,
    own: 'mine',
    absent: undefined,
    trace,
    entities: 'function',
  });
  await grpc.client().call('GetNote', {}, { metadata: { 'x-forwarded-for': '127.0.0.1' } });
  t.false(seen.isLoopback, 'a proxy may speak for any caller');
});

test('any metadata are survived', async (t) => {
  await using grpc = await startGrpc({ rates: { anonymous: 1_000_000 } });
  const client = grpc.client({ token: null });
  const names = [
    'authorization',
    'x-request-id',
    'x-forwarded-for',
    'forwarded',
    'traceparent',
    'x-svc-user-id',
    'cookie',
  ];
  const value = fc.string({ unit: fc.constantFrom(...' !"#%,;=abc:/[]09hk_.-'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value), async (metadata) => {
      t.is((await client.call('GetNote', {}, { metadata })).code, 'UNAUTHENTICATED');
    }),
    { numRuns: 60 },
  );
});
