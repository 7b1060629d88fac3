import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { shared } from '../../../support/shared.ts';
import { startContextGateway } from './context-gateway.ts';

const gateway = shared((file) => startContextGateway(file));

const as = (user: string) => ({ headers: { 'x-svc-user-id': user } });
const put = (value: unknown, headers = {}) => ({ method: 'PUT', body: { value }, headers });

eachGatewayDatabase(
  test,
  'memories are written, listed and deleted, for one user at a time',
  async (t, { environment }) => {
    const { request } = await startContextGateway(t, { env: environment });
    const made = await request('/v1/memories/tea', put('green', as('ana').headers));
    t.is(made.status, 200);
    t.like(made.body, { key: 'tea', value: 'green' });
    t.regex(made.body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    await request('/v1/memories/city', put('Porto', as('ana').headers));
    const list = await request('/v1/memories?limit=1', as('ana'));
    t.like(list.body, { memories: [{ key: 'city' }], total: 2, limit: 1, offset: 0 });
    t.is((await request('/v1/memories?limit=9999', as('ana'))).body.limit, 500);
    t.is((await request('/v1/memories', as('ben'))).body.total, 0);
    t.is((await request('/v1/memories')).body.total, 0, 'the identity is another user');
    const remove = { method: 'DELETE' };
    t.is((await request('/v1/memories/tea', { ...remove, ...as('ben') })).status, 404);
    t.is((await request('/v1/memories/tea', { ...remove, ...as('ana') })).status, 204);
    const again = await request('/v1/memories/tea', { ...remove, ...as('ana') });
    t.deepEqual([again.status, again.body.code], [404, 'memory.not-found']);
  },
);

test('without X-Svc-User-Id, or with an empty one, the user is the identity', async (t) => {
  const { request } = await (await gateway()).tenant();
  await request('/v1/memories/tea', put('green'));
  t.is((await request('/v1/memories', { headers: { 'x-svc-user-id': '' } })).body.total, 1);
});

test('a user is found by any name, however the client writes it into the header', async (t) => {
  const { request } = await (await gateway()).tenant();
  /** What a client sends as bytes: `fetch` takes a character for each. */
  const sent = (bytes: Buffer) => ({ headers: { 'x-svc-user-id': bytes.toString('latin1') } });
  await request('/v1/memories/tea', { ...put('green'), ...sent(Buffer.from('zoë', 'utf8')) });
  t.is((await request('/v1/memories', sent(Buffer.from('zoë', 'latin1')))).body.total, 1);
  const control = await request('/v1/memories', sent(Buffer.from('a\u0085b', 'utf8')));
  t.deepEqual([control.status, control.body.errors[0].pointer], [400, '/headers/x-svc-user-id']);
});

eachGatewayDatabase(
  test,
  'users and keys are apart that differ only in case, accents or blanks',
  async (t, { environment }) => {
    const { request } = await startContextGateway(t, { env: environment });
    const keys = ['tea', 'Tea', 'tea ', 'téa', 'te\u0301a', 'ｔea'];
    for (const key of keys)
      await request(`/v1/memories/${encodeURIComponent(key)}`, put(key, as('ana').headers));
    const { memories } = (await request('/v1/memories', as('ana'))).body;
    const pairs = memories.map(({ key, value }: { key: string; value: string }) => [key, value]);
    t.deepEqual(
      pairs.toReversed(),
      keys.map((key) => [key, key]),
    );
    for (const user of ['Ana', 'áná']) t.is((await request('/v1/memories', as(user))).body.total, 0, user);
    const remove = { method: 'DELETE' };
    t.is((await request('/v1/memories/TEA', { ...remove, ...as('ana') })).status, 404);
    t.is((await request('/v1/memories/tea', { ...remove, ...as('Ana') })).status, 404);
    t.is((await request('/v1/memories', as('ana'))).body.total, keys.length);
  },
);

test('a tenant does not see the memories of another', async (t) => {
  const { request, makeTenant } = await gateway();
  const [one, two] = [await makeTenant(), await makeTenant()];
  const owner = { token: one.token, ...as('ana') };
  await request('/v1/memories/tea', { method: 'PUT', body: { value: 'green' }, ...owner });
  t.is((await request('/v1/memories', { token: two.token, ...as('ana') })).body.total, 0);
  const theft = await request('/v1/memories/tea', { method: 'DELETE', token: two.token, ...as('ana') });
  t.is(theft.status, 404);
  t.is((await request('/v1/memories', owner)).body.total, 1);
});

test('a key holds any characters, percent-encoded', async (t) => {
  const { request } = await (await gateway()).tenant();
  for (const key of ['a/b', 'a%2Fb', 'ü 日本?#&', '🍵'.repeat(128), '...', 'constructor', "'; drop table"]) {
    const path = `/v1/memories/${encodeURIComponent(key)}`;
    const made = await request(path, put('x'));
    t.deepEqual([made.status, made.body.key], [200, key]);
    t.is((await request(path, { method: 'DELETE' })).status, 204, key);
  }
});

test('what is wrong is told by field', async (t) => {
  const { request } = await (await gateway()).tenant();
  const pointers = async (path: string, value: unknown, headers = {}) => {
    const { status, body } = await request(path, put(value, headers));
    t.is(status, 400, path);
    return body.errors.map(({ pointer }: { pointer: string }) => pointer);
  };
  t.deepEqual(await pointers('/v1/memories/a%00b', 'x'), ['/params/key']);
  t.deepEqual(await pointers(`/v1/memories/${'x'.repeat(129)}`, 'x'), ['/params/key']);
  t.deepEqual(await pointers('/v1/memories/a', ''), ['/body/value']);
  t.deepEqual(await pointers('/v1/memories/a', 'x'.repeat(8193)), ['/body/value']);
  t.deepEqual(await pointers('/v1/memories/a', 7), ['/body/value']);
  const long = { 'x-svc-user-id': 'x'.repeat(256) };
  t.deepEqual(await pointers('/v1/memories/a', 'x', long), ['/headers/x-svc-user-id']);
  t.is((await request('/v1/memories?limit=-1')).status, 400);
  t.is((await request('/v1/memories/a%00b', { method: 'DELETE' })).status, 404);
});

test('reading and writing ask for the role user and the general scopes', async (t) => {
  const { request, makeTenant, key } = await gateway();
  const { id } = await makeTenant();
  const reader = await key(id, ['user'], ['read']);
  t.is((await request('/v1/memories', { token: reader })).status, 200);
  t.is((await request('/v1/memories/a', { ...put('x'), token: reader })).status, 403);
  t.is((await request('/v1/memories', { token: await key(id, ['auditor']) })).status, 403);
  t.is((await request('/v1/memories', { token: null })).status, 401);
});

const PATH = '/v1/profile';
const text = { 'content-type': 'text/plain' };
const ana = { 'x-svc-user-id': 'ana' };

test('a profile is written, read as it was written, and removed', async (t) => {
  const { request } = await (await gateway()).tenant();
  const none = await request(PATH, { headers: ana });
  t.deepEqual([none.status, none.body.code], [404, 'profile.not-found']);
  const body = '# Ana\r\nLikes 🍵\n';
  t.is((await request(PATH, { method: 'PUT', body, headers: { ...text, ...ana } })).status, 204);
  const read = await request(PATH, { headers: ana });
  t.deepEqual([read.status, read.body], [200, body]);
  t.is(read.headers.get('content-type'), 'text/markdown; charset=utf-8');
  t.is((await request(PATH)).status, 404, 'another user has none');
  t.is((await request(PATH, { method: 'PUT', headers: { ...text, ...ana } })).status, 204);
  t.is((await request(PATH, { headers: ana })).status, 404);
});

test('a profile is text of 16 KiB at most', async (t) => {
  const { request } = await (await gateway()).tenant();
  const put = (body: unknown, headers = {}) =>
    request(PATH, { method: 'PUT', body, headers: { ...text, ...headers } }).then(({ status }) => status);
  t.is(await put('x'.repeat(16_384)), 204);
  t.is(await put('x'.repeat(16_385)), 413);
  t.is(await put('x', { 'content-type': 'application/json' }), 415);
  t.is(await put('x', { 'x-svc-user-id': 'x'.repeat(256) }), 400);
});
