import { Readable } from 'node:stream';
import test from 'ava';
import { until } from '../../support/until.ts';
import { OTHER, openTestEgress, startServer, TENANT, textOf } from './kit.ts';

const PATIENCE = 15_000;

test('connections are kept for the tenant, and never used for another', async (t) => {
  const server = await startServer(t);
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  const get = async (tenant: string) => textOf(await egress.request(tenant, { url }));
  for (const tenant of [TENANT, OTHER, TENANT, OTHER, TENANT]) t.is(await get(tenant), 'hello');
  t.is(server.sockets.length, 2);
  const socketOf = server.requests.map(({ socket }) => socket);
  t.is(socketOf[0], socketOf[2]);
  t.is(socketOf[0], socketOf[4]);
  t.is(socketOf[1], socketOf[3]);
  t.not(socketOf[0], socketOf[1]);
});

test('a rule that comes later holds for a connection that is kept already', async (t) => {
  const server = await startServer(t);
  const { egress } = await openTestEgress(t);
  const url = `http://127.0.0.1:${server.port}/`;
  const get = async () => textOf(await egress.request(TENANT, { url }));
  t.is(await get(), 'hello');
  const { id } = await egress.rules.create({ tenantId: TENANT, hostPattern: '127.0.0.1', action: 'deny' });
  await t.throwsAsync(get(), { code: 'egress.denied' });
  await egress.rules.delete(id);
  t.is(await get(), 'hello');
  t.is(server.sockets.length, 1);
});

test('the address that was checked is the one that is called: nobody asks a second time', async (t) => {
  const server = await startServer(t, (_request, response) => {
    response.setHeader('connection', 'close').end('hello');
  });
  let asked = 0;
  // Good at first, then as an attacker's DNS server would have it.
  const answers = [['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254']];
  const { egress, lookups, trail } = await openTestEgress(t, {
    names: { 'rebind.example.com': () => answers[asked++] ?? ['10.0.0.1'] },
  });
  const get = async () =>
    textOf(await egress.request(TENANT, { url: `http://rebind.example.com:${server.port}/` }));
  t.is(await get(), 'hello');
  t.is(lookups.length, 1, 'one look-up for check and connection');
  await t.throwsAsync(get(), { code: 'egress.denied' });
  await t.throwsAsync(get(), { code: 'egress.denied' });
  t.is(lookups.length, 3);
  t.is(server.sockets.length, 1);
  t.deepEqual(
    trail.details.map(({ reason }) => reason),
    ['private', 'metadata'],
  );
});

test('a name with one address that is refused is refused, wherever in the answer it stands', async (t) => {
  const server = await startServer(t);
  const mixed = [
    ['127.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '127.0.0.1'],
    ['127.0.0.1', 'fd00::1'],
    ['127.0.0.1', '::ffff:10.0.0.1'],
    ['127.0.0.1', 'not an address'],
  ];
  const names = Object.fromEntries(mixed.map((answers, index) => [`n${index}.example.com`, answers]));
  const { egress } = await openTestEgress(t, { names });
  for (const host of Object.keys(names)) {
    await t.throwsAsync(
      egress.request(TENANT, { url: `http://${host}:${server.port}/` }),
      { code: 'egress.denied' },
      host,
    );
  }
  t.is(server.sockets.length, 0);
});

test('of several good addresses the next is tried where one does not answer', async (t) => {
  const server = await startServer(t);
  const { egress } = await openTestEgress(t, {
    allowPrivate: ['127.0.0.0/8', '::1'],
    names: { 'many.example.com': ['127.0.0.9', '::1', '127.0.0.1'] },
  });
  t.is(
    await textOf(await egress.request(TENANT, { url: `http://many.example.com:${server.port}/` })),
    'hello',
  );
});

test('a tenant has no more requests open than the bound, and another tenant does not notice', async (t) => {
  const held: (() => void)[] = [];
  const server = await startServer(t, (_request, response) => {
    held.push(() => response.end('hello'));
  });
  const { egress, observed } = await openTestEgress(t, { bounds: { openPerTenant: 2, open: 3 } });
  const url = `http://127.0.0.1:${server.port}/`;
  const open = [egress.request(TENANT, { url }), egress.request(TENANT, { url })];
  await until(() => held.length === 2, PATIENCE);
  const error = await t.throwsAsync(egress.request(TENANT, { url }), { code: 'egress.busy' });
  t.like(error, { extras: { headers: { 'retry-after': '1' } } });
  open.push(egress.request(OTHER, { url }));
  await until(() => held.length === 3, PATIENCE);
  await t.throwsAsync(
    egress.request('another', { url }),
    { code: 'egress.busy' },
    'the bound of all tenants',
  );
  for (const answer of held) answer();
  for (const response of await Promise.all(open)) t.is(await textOf(response), 'hello');
  const again = egress.request(TENANT, { url });
  await until(() => held.length === 4, PATIENCE);
  held[3]?.();
  t.is(await textOf(await again), 'hello', 'a place is free again');
  t.deepEqual(observed.toSorted(), ['answered', 'answered', 'answered', 'answered', 'busy', 'busy']);
});

test('failed, denied and abandoned requests give their places back', async (t) => {
  const server = await startServer(t, (request, response) => {
    if (request.url === '/broken') request.socket.destroy();
    else response.end('x'.repeat(500_000));
  });
  const { egress } = await openTestEgress(t, { bounds: { openPerTenant: 1 } });
  const at = `http://127.0.0.1:${server.port}`;
  for (let round = 0; round < 3; round += 1) {
    await t.throwsAsync(egress.request(TENANT, { url: `${at}/broken` }), { code: 'egress.unreachable' });
    await t.throwsAsync(egress.request(TENANT, { url: 'http://10.0.0.1/' }), { code: 'egress.denied' });
    await t.throwsAsync(egress.request(TENANT, { url: 'http://nowhere.example.com/' }), {
      code: 'egress.unreachable',
    });
    const abandoned = await egress.request(TENANT, { url: at });
    abandoned.body.destroy();
    await until(async () => {
      const next = await egress.request(TENANT, { url: at }).catch(() => undefined);
      if (next === undefined) return false;
      await textOf(next);
      return true;
    }, PATIENCE);
  }
  t.pass();
});

test('more requests than connections to one origin wait for each other', async (t) => {
  let open = 0;
  let most = 0;
  const server = await startServer(t, (_request, response) => {
    most = Math.max(most, ++open);
    setImmediate(() => {
      open -= 1;
      response.end('hello');
    });
  });
  const { egress } = await openTestEgress(t, { bounds: { connectionsPerOrigin: 2 } });
  const url = `http://127.0.0.1:${server.port}/`;
  const texts = await Promise.all(
    Array.from({ length: 20 }, async () => textOf(await egress.request(TENANT, { url }))),
  );
  t.deepEqual(new Set(texts), new Set(['hello']));
  t.true(most <= 2);
  t.true(server.sockets.length <= 2);
});

test('unused connections are closed where there are too many, the oldest first', async (t) => {
  const servers = await Promise.all([startServer(t), startServer(t), startServer(t)]);
  const { egress } = await openTestEgress(t, { bounds: { idleOriginsPerTenant: 2, keepAlive: 600_000 } });
  for (const { port } of servers)
    await textOf(await egress.request(TENANT, { url: `http://127.0.0.1:${port}/` }));
  await until(() => servers[0]?.sockets[0]?.destroyed === true, PATIENCE);
  t.false(servers[1]?.sockets[0]?.destroyed);
  t.false(servers[2]?.sockets[0]?.destroyed);
});

test('an unused connection is closed after its time, however long the server would keep it', async (t) => {
  const server = await startServer(t);
  const { egress } = await openTestEgress(t, { bounds: { keepAlive: 50 } });
  await textOf(await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/` }));
  await until(() => server.sockets[0]?.destroyed === true, PATIENCE);
  t.pass();
});

test("the operator's proxy variables are not followed", async (t) => {
  const proxy = await startServer(t);
  const server = await startServer(t, (_request, response) => response.end('direct'));
  const { HTTP_PROXY, http_proxy } = process.env;
  Object.assign(process.env, {
    HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
    http_proxy: `http://127.0.0.1:${proxy.port}`,
  });
  t.teardown(() => {
    for (const [name, value] of Object.entries({ HTTP_PROXY, http_proxy })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const { egress } = await openTestEgress(t);
  t.is(await textOf(await egress.request(TENANT, { url: `http://127.0.0.1:${server.port}/` })), 'direct');
  t.is(proxy.sockets.length, 0);
});

test('a stream that the caller sends is read as fast as the server takes it', async (t) => {
  const server = await startServer(t, () => {});
  const { egress } = await openTestEgress(t);
  let produced = 0;
  const body = new Readable({
    read() {
      produced += 1;
      this.push(Buffer.alloc(65_536));
    },
  });
  const sent = egress.request(TENANT, {
    url: `http://127.0.0.1:${server.port}/`,
    method: 'POST',
    body,
    timeout: 600,
  });
  await t.throwsAsync(sent, { code: 'egress.timeout' });
  t.true(produced < 2000, `${produced} chunks were produced for a server that reads none`);
  await until(() => body.destroyed, PATIENCE);
});
