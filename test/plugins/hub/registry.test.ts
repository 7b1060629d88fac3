import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { HUB_LIMIT } from '../../../plugins/hub/routes/callers.ts';
import { NodeTable } from '../../../plugins/hub/store/tables.ts';
import { manualClock } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { envelope, KEY, keyed, makeNode, register, send, signed, startHub } from './hub-kit.ts';

const NODES = '/api/v1/nodes';
const SUBSCRIPTIONS = '/api/v1/subscriptions';
const HERE = 'http://127.0.0.1:4011';
const beatOf = (id: string) => `${NODES}/${id}/heartbeat`;

eachGatewayDatabase(
  test,
  'a node registers, lives by its heartbeats, expires and comes back',
  async (t, fresh) => {
    const clock = manualClock();
    const hub = await startHub(t, fresh.environment, { clock });
    const node = makeNode('node-a');
    const made = await register(hub, node, `${HERE}/`);
    t.is(made.status, 201, JSON.stringify(made.body));
    t.deepEqual(made.body, { node_id: 'node-a', heartbeat_interval_seconds: 30, ttl_seconds: 60 });
    t.is((await register(hub, node, HERE)).status, 200, 'the same key again');
    const list = async () => (await keyed(hub, 'GET', NODES)).body;
    const { nodes, total } = await list();
    t.is(total, 1);
    t.like(nodes[0], { node_id: 'node-a', endpoint: HERE, public_key: node.publicKey, status: 'healthy' });
    t.deepEqual(nodes[0].capabilities, ['genes']);

    // The hub goes by the clock of its database, and that of a server is not a test's.
    const { database } = hub.gateway.services;
    const silentSince = new Date(database.clock.now() - 61_000);
    if (database.family === 'sqlite') clock.advance(61_000);
    else await database.system().nativeUpdate(NodeTable, { id: 'node-a' }, { lastSeenAt: silentSince });
    t.is((await list()).nodes[0].status, 'expired');
    const target = beatOf('node-a');
    const headers = envelope(node, 'PUT', target, '', { timestamp: Math.floor(clock.now() / 1000) });
    t.is((await send(hub, 'PUT', target, headers)).status, 200);
    t.is((await list()).nodes[0].status, 'healthy');
  },
);

eachGatewayDatabase(
  test,
  'another key for a known id flags both, and only an operator’s word settles it',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const [first, second, third] = [makeNode('node-a'), makeNode('node-a'), makeNode('node-a')];
    await register(hub, first, HERE);
    const refused = await register(hub, second, 'http://127.0.0.1:4010');
    t.like(refused, { status: 409, body: { code: 'hub.node-conflict' } });
    for (const node of [first, second, third])
      t.is((await register(hub, node, HERE)).status, 409, 'every key has to wait');
    t.is((await signed(hub, first, 'PUT', beatOf('node-a'))).status, 409);
    const [{ status, conflict }] = (await keyed(hub, 'GET', NODES)).body.nodes;
    t.is(status, 'conflict');
    t.deepEqual(conflict.keys, [
      { public_key: first.publicKey, endpoint: HERE },
      { public_key: second.publicKey, endpoint: 'http://127.0.0.1:4010' },
    ]);

    const confirm = (publicKey: string, headers: Record<string, string>, id = 'node-a') =>
      send(hub, 'POST', `${NODES}/${id}/confirm`, headers, JSON.stringify({ public_key: publicKey }));
    const operator = { authorization: `Bearer ${hub.token}` };
    t.is((await confirm(second.publicKey, { authorization: `Bearer ${KEY}` })).status, 403);
    t.is((await confirm(second.publicKey, {})).status, 401);
    t.like(await confirm(third.publicKey, operator), { status: 409, body: { code: 'hub.third-key' } });
    t.is((await confirm(second.publicKey, operator, 'nobody')).status, 404);
    const confirmed = await confirm(second.publicKey, operator);
    t.like(confirmed, { status: 200, body: { public_key: second.publicKey, status: 'healthy' } });
    t.is(confirmed.body.endpoint, 'http://127.0.0.1:4010');
    t.is((await signed(hub, second, 'PUT', beatOf('node-a'))).status, 200);
    t.like(await signed(hub, first, 'PUT', beatOf('node-a')), {
      status: 401,
      body: { code: 'hub.signature-invalid' },
    });
  },
);

eachGatewayDatabase(
  test,
  'of several first keys that come at one moment one is registered',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const nodes = Array.from({ length: 6 }, () => makeNode('node-a'));
    const answers = await Promise.all(nodes.map((node) => register(hub, node, HERE)));
    t.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  },
);

test('a node moves only by its own word, and leaves by it', async (t) => {
  const hub = await startHub(t);
  const node = makeNode('node-a');
  await register(hub, node, HERE);
  const there = 'http://127.0.0.1:4010';
  t.like(await register(hub, node, there), { status: 401, body: { code: 'hub.envelope-incomplete' } });
  const claim = JSON.stringify({ node_id: 'node-a', endpoint: there, public_key: node.publicKey });
  const bearer = { authorization: `Bearer ${KEY}` };
  const stranger = { ...makeNode('node-a'), id: 'node-a' };
  const move = (headers: Record<string, string>) =>
    send(hub, 'POST', NODES, { ...bearer, ...headers }, claim);
  t.is((await move(envelope(stranger, 'POST', NODES, claim))).body.code, 'hub.signature-invalid');
  t.is((await move(envelope(node, 'POST', NODES, claim))).status, 200);
  t.is((await keyed(hub, 'GET', NODES)).body.nodes[0].endpoint, there);

  const other = makeNode('node-b');
  await register(hub, other, HERE);
  t.like(await signed(hub, other, 'DELETE', `${NODES}/node-a`), {
    status: 403,
    body: { code: 'hub.foreign-node' },
  });
  t.is((await keyed(hub, 'DELETE', `${NODES}/node-a`)).status, 401, 'a key of the hub is no signature');
  t.is((await signed(hub, node, 'DELETE', `${NODES}/node-a`)).status, 204);
  t.is((await keyed(hub, 'GET', NODES)).body.total, 1);
  t.is((await register(hub, makeNode('node-a'), HERE)).status, 201, 'the name is free');
  const operator = { authorization: `Bearer ${hub.token}` };
  t.is((await send(hub, 'DELETE', `${NODES}/node-a`, operator)).status, 204);
});

test('a node reads by its envelope alone, the list of nodes too', async (t) => {
  const hub = await startHub(t, { SVC_ALLOW_ANONYMOUS: 'false' });
  const node = makeNode('node-a');
  t.is((await register(hub, node, 'http://127.0.0.1:7001')).status, 201);
  for (const target of [NODES, `${NODES}?limit=1`, '/api/v1/genes']) {
    t.is((await signed(hub, node, 'GET', target)).status, 200, target);
    t.is((await signed(hub, makeNode('node-a'), 'GET', target)).status, 401, target);
    t.is((await send(hub, 'GET', target)).status, 401, target);
  }
});

test('whoever has a key of the hub uses up no calls of the default tenant', async (t) => {
  const hub = await startHub(t, { SVC_ANON_RATE_LIMIT_RPM: '3' });
  await hub.gateway.services.tenants.update(DEFAULT_TENANT_ID, { rateLimitRpm: 5 });
  const statuses = async (path: string) => (await keyed(hub, 'POST', path)).status;
  const refused = [await statuses('/api/v1/keys/rotate'), await statuses('/api/v1/nodes/x/confirm')];
  t.deepEqual(
    [...refused, await statuses('/api/v1/nodes/x/y'), await statuses('/none')],
    [403, 403, 404, 429],
  );
  const own = { authorization: `Bearer ${hub.token}` };
  t.is((await send(hub, 'GET', '/admin/v1/plugins', own)).status, 200);
  t.is(
    (await keyed(hub, 'GET', '/api/v1/nodes')).status,
    200,
    'the routes of the hub have a window of their own',
  );
});

test('a node uses up the calls of no caller whose name or address it has taken for its id', (t) => {
  const keyOf = (method: string, id: string, address = '192.0.2.1') =>
    HUB_LIMIT.by({
      identity: { id, method, tenantId: '', roles: [], scopes: new Set() },
      address,
      params: {},
      header: () => undefined,
    });
  t.not(keyOf('hub_node', 'static-token'), keyOf('static_token', 'static-token'));
  t.not(keyOf('hub_node', '192.0.2.1'), keyOf('anonymous', 'anonymous'));
  t.not(keyOf('hub_node', 'anonymous'), keyOf('anonymous', 'anonymous'));
  t.is(keyOf('rejected', 'anonymous'), keyOf('anonymous', 'anonymous'), 'both are counted by their address');
});

test('what is no node is refused, and inner addresses are when they are written', async (t) => {
  const hub = await startHub(t, { SVC_EGRESS_ALLOW_PRIVATE: '' });
  const node = makeNode('node-a');
  const zeros = Buffer.alloc(32).toString('base64');
  for (const [more, pointer] of [
    [{ public_key: zeros }, '/body/public_key'],
    [{ public_key: Buffer.alloc(31, 1).toString('base64') }, '/body/public_key'],
    [{ public_key: `${node.publicKey.slice(0, -1)}` }, '/body/public_key'],
    [{ node_id: 'a b' }, '/body/node_id'],
    [{ node_id: 'hub-0123456789abcdef' }, '/body/node_id'],
    [{ endpoint: 'ftp://node.example' }, '/body/endpoint'],
    [{ endpoint: 'https://user@node.example' }, '/body/endpoint'],
    [{ endpoint: 'https://node.example/?a=1' }, '/body/endpoint'],
  ] as const) {
    const { status, body } = await register(hub, node, 'https://8.8.8.8', more);
    t.is(status, 400, JSON.stringify(more));
    t.is(body.errors[0].pointer, pointer);
  }
  const twice = await register(hub, node, 'nowhere', { node_id: 'a', public_key: 'abc' });
  t.deepEqual(
    twice.body.errors.map((error: { pointer: string }) => error.pointer),
    ['/body/endpoint', '/body/public_key'],
  );
  const all = await register(hub, node, 'nowhere', { node_id: 'a b', public_key: 'abc', capabilities: 7 });
  t.deepEqual(
    all.body.errors.map((error: { pointer: string }) => error.pointer).toSorted(),
    ['/body/capabilities', '/body/endpoint', '/body/node_id', '/body/public_key'],
    'what the schema refuses hides no other rule',
  );
  const mistyped = await register(hub, node, 'nowhere', { node_id: 7, public_key: {} });
  t.deepEqual(mistyped.body.errors.map((error: { pointer: string }) => error.pointer).toSorted(), [
    '/body/endpoint',
    '/body/node_id',
    '/body/public_key',
  ]);
  const named = await register(hub, node, 'https://8.8.8.8', { node_id: 'a b', capabilities: ['a b'] });
  for (const { message } of named.body.errors) t.notRegex(message, /pattern/);
  for (const inner of ['http://127.0.0.1:8080', 'http://169.254.169.254', 'http://localhost', 'http://[::1]'])
    t.like(await register(hub, node, inner), { status: 403, body: { code: 'egress.denied' } }, inner);
  t.is((await register(hub, node, 'https://8.8.8.8')).status, 201);
});

test('without keys of the hub callers on the loopback interface register, with them only who has one', async (t) => {
  // The gateway itself lets everybody in: what the hub demands is its own.
  const open = await startHub(t, { HUB_API_KEYS: '', SVC_ALLOW_ANONYMOUS: 'true' });
  const node = makeNode('node-a');
  const claim = JSON.stringify({ node_id: 'node-a', endpoint: HERE, public_key: node.publicKey });
  const post = (hub: { url: string }, headers: Record<string, string> = {}) =>
    send(hub, 'POST', NODES, headers, claim);
  t.is((await post(open)).status, 201);
  t.is((await post(open, { 'x-forwarded-for': '203.0.113.9' })).status, 401);
  t.is((await send(open, 'GET', NODES)).status, 200);
  const subscribe = (headers: Record<string, string> = {}) =>
    send(
      open,
      'POST',
      SUBSCRIPTIONS,
      headers,
      '{"callback_url":"https://8.8.8.8/","events":["gene_revoked"]}',
    );
  const { status, body: subscription } = await subscribe();
  t.is(status, 201);
  const proxied: readonly Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.9' },
    { forwarded: 'for=203.0.113.9' },
  ];
  for (const headers of proxied) {
    t.is((await subscribe(headers)).status, 401);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', `/${subscription.id}`],
      ['GET', `/${subscription.id}/dead-letters`],
      ['POST', `/${subscription.id}/dead-letters/retry`],
      ['DELETE', `/${subscription.id}`],
    ] as const)
      t.is((await send(open, method, `${SUBSCRIPTIONS}${path}`, headers)).status, 401, `${method} ${path}`);
  }

  const closed = await startHub(t);
  t.is((await post(closed)).status, 401);
  t.is((await post(closed, { authorization: 'Bearer wrong' })).status, 401);
  const { token } = await closed.makeTenant();
  t.like(await post(closed, { authorization: `Bearer ${token}` }), {
    status: 403,
    body: { code: 'hub.key-required' },
  });
  t.is((await post(closed, { authorization: `Bearer ${KEY}` })).status, 201);
  for (const credential of [KEY, token])
    t.is((await send(closed, 'GET', NODES, { authorization: `Bearer ${credential}` })).status, 200);
  t.is((await send(closed, 'GET', NODES, { 'x-forwarded-for': '203.0.113.9' })).status, 401);
  const elsewhere = await send(closed, 'GET', '/api/v2/admin/evolution/stats', {
    authorization: `Bearer ${KEY}`,
  });
  t.is(elsewhere.status, 403, 'elsewhere a key of the hub is nobody');
});

test('a hub whose file cannot be opened is away until it can, and the rest of the gateway serves', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'hub-file-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'hub.db');
  await writeFile(file, 'this is no database '.repeat(500));
  const hub = await startHub(t, { HUB_DB_PATH: file });
  const away = { code: 'gateway.unavailable', detail: 'The database of the hub cannot be opened' };
  t.like(await keyed(hub, 'GET', NODES), { status: 503, body: away });
  t.like(await register(hub, makeNode('node-a'), HERE), { status: 503, body: away });
  t.is((await hub.request('/health/ready')).status, 200);
  await rm(file);
  t.is((await keyed(hub, 'GET', NODES)).status, 200);
});
