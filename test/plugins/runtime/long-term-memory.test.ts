import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { SignJWT } from 'jose';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { startRecords } from './records-gateway.ts';

const MEMORY = '/api/v2/memory/long-term';
const post = (user_id: unknown, content: unknown, metadata?: unknown) => ({
  method: 'POST',
  body: { user_id, content, ...(metadata === undefined ? {} : { metadata }) },
});

eachGatewayDatabase(
  test,
  'memories are made, listed, found by meaning, changed and forgotten, for one tenant',
  async (t, fresh) => {
    const gateway = await startRecords(t, { env: { ...fresh.environment } });
    const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
    const ask = (path: string, options: object = {}) =>
      gateway.request(`${MEMORY}${path}`, { token: one.token, ...options });
    const metadata = { source: 'chat', deep: ['\0', null] };
    const made = await ask('', post('ana', 'Ana drinks green tea', metadata));
    t.is(made.status, 201);
    const { memory } = made.body;
    t.like(memory, { user_id: 'ana', content: 'Ana drinks green tea' });
    t.deepEqual(memory.metadata, metadata);
    t.regex(memory.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const city = (await ask('', post('ana', 'Her office is in Porto'))).body.memory;
    t.deepEqual(city.metadata, {});
    await ask('', post('ben', 'Ben drinks green tea'));

    const list = (await ask('?user_id=ana&limit=1&offset=1')).body;
    t.deepEqual(list, { user_id: 'ana', memories: [memory], total: 2, limit: 1, offset: 1 });
    t.is((await ask('?user_id=ana&limit=100000')).body.limit, 500);

    const found = (await ask('/search?user_id=ana&q=green+tea')).body;
    t.like(found, { user_id: 'ana', query: 'green tea', total: 1, results: { length: 1 } });
    const [{ score, ...result }] = found.results;
    t.deepEqual(result, { id: memory.id, content: memory.content, metadata });
    t.true(score > 0.2 && score <= 1);
    t.is((await ask(`/search?user_id=ana&q=green+tea&threshold=${score}`)).body.total, 1);
    t.is((await ask('/search?user_id=ana&q=green+tea&threshold=1')).body.total, 0);
    t.is((await ask('/search?user_id=ana&q=green+tea&threshold=0&limit=1')).body.total, 1);

    const changed = await ask(`/${memory.id}`, { method: 'PUT', body: { content: 'Ana drinks coffee' } });
    t.is(changed.status, 200);
    t.like(changed.body.memory, {
      id: memory.id,
      content: 'Ana drinks coffee',
      created_at: memory.created_at,
    });
    t.deepEqual(changed.body.memory.metadata, metadata);
    t.is((await ask('/search?user_id=ana&q=green+tea')).body.total, 0, 'its vector is made anew');
    t.is((await ask('/search?user_id=ana&q=coffee')).body.total, 1);
    const emptied = { method: 'PUT', body: { content: 'Ana drinks coffee', metadata: {} } };
    t.deepEqual((await ask(`/${memory.id}`, emptied)).body.memory.metadata, {});

    const theirs = { token: two.token };
    t.is((await ask('?user_id=ana', theirs)).body.total, 0);
    t.is((await ask('/search?user_id=ana&q=coffee', theirs)).body.total, 0);
    for (const options of [emptied, { method: 'DELETE' }])
      t.is((await ask(`/${memory.id}`, { ...options, ...theirs })).body.code, 'memory.not-found');
    t.is((await ask(`/${memory.id}`, { method: 'DELETE' })).status, 204);
    t.is((await ask(`/${memory.id}`, { method: 'DELETE' })).status, 404);
    t.is((await ask('?user_id=ana')).body.total, 1);
  },
);

test('a caller bound to a user reaches that user alone; administrators and backends reach all', async (t) => {
  const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const env = { SVC_JWT_PUBLIC_KEY: issuer.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  const gateway = await startRecords(t, { env });
  const tenant = await gateway.makeTenant();
  const { token: backend } = await gateway.key(tenant.id);
  const person = await new SignJWT({ tenant_id: tenant.id, roles: ['user'] })
    .setProtectedHeader({ alg: 'RS256' })
    .setSubject('ana')
    .setExpirationTime('1h')
    .sign(issuer.privateKey);
  const { id } = (await gateway.request(MEMORY, { ...post('ana', 'tea'), token: backend })).body.memory;
  const as = (token: string, user = '') => ({ token, headers: { 'x-svc-user-id': user } });
  const put = { method: 'PUT', body: { content: 'tea' } };
  const statuses = async (caller: ReturnType<typeof as>) =>
    (
      await Promise.all([
        gateway.request(`${MEMORY}?user_id=ana`, caller),
        gateway.request(`${MEMORY}/search?user_id=ana&q=x`, caller),
        gateway.request(`${MEMORY}/${id}`, { ...put, ...caller }),
        gateway.request(MEMORY, { ...post('ben', 'x'), ...caller }),
      ])
    ).map(({ status }) => status);
  t.deepEqual(await statuses(as(backend)), [200, 200, 200, 201]);
  t.deepEqual(await statuses(as(backend, 'ana')), [200, 200, 200, 403]);
  t.deepEqual(await statuses(as(backend, 'ben')), [403, 403, 403, 201]);
  t.deepEqual(await statuses(as(person)), [200, 200, 200, 403]);
  t.deepEqual(await statuses(as(tenant.token, 'ben')), [200, 200, 200, 201]);
  const refused = await gateway.request(`${MEMORY}?user_id=ana`, as(backend, 'ben'));
  t.is(refused.body.code, 'memory.forbidden');
  t.is((await gateway.request(`${MEMORY}/${id}`, { method: 'DELETE', token: backend })).status, 403);
  const local = { ...post('ana', 'made without a credential'), token: null };
  t.is((await gateway.request(MEMORY, local)).status, 201);
});

test('what is wrong is told by field', async (t) => {
  const { request } = await startRecords(t);
  const pointers = async (path: string, options: object = {}) => {
    const { status, body } = await request(`${MEMORY}${path}`, options);
    t.is(status, 400, `${path} ${JSON.stringify(options)}`);
    return body.errors.map(({ pointer }: { pointer: string }) => pointer);
  };
  t.deepEqual(await pointers(''), ['/query/user_id']);
  t.deepEqual(await pointers('?user_id=a%00'), ['/query/user_id']);
  t.deepEqual(await pointers('/search?user_id=a'), ['/query/q']);
  t.deepEqual(await pointers('/search?user_id=a&q=b&threshold=2&limit=-1'), [
    '/query/limit',
    '/query/threshold',
  ]);
  t.deepEqual(await pointers('', post('\ud800', '', [])), [
    '/body/user_id',
    '/body/content',
    '/body/metadata',
  ]);
  t.deepEqual(await pointers('', post('x'.repeat(256), 'x'.repeat(8193))), [
    '/body/user_id',
    '/body/content',
  ]);
  const metadata = { x: 'x'.repeat(8192) };
  t.deepEqual(await pointers('', post('a', 'b', metadata)), ['/body/metadata']);
  t.deepEqual(await pointers('', post('a', '', metadata)), ['/body/content', '/body/metadata']);
  const { id: kept } = (await request(MEMORY, post('a', 'b'))).body.memory;
  const put = { method: 'PUT', body: { content: 'b', metadata } };
  t.deepEqual(await pointers(`/${kept}`, put), ['/body/metadata']);
  t.is((await request(`${MEMORY}/${kept}`, put)).body.code, 'memory.invalid');
  const empty = { method: 'PUT', body: { content: '', metadata } };
  t.deepEqual(await pointers(`/${kept}`, empty), ['/body/content', '/body/metadata']);
  for (const id of ['x', '%00', 'x'.repeat(300)])
    t.is((await request(`${MEMORY}/${id}`, { method: 'PUT', body: { content: 'x' } })).status, 404, id);
});
