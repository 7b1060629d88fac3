import test from 'ava';
import { createRedaction } from '../../../../foundation/redaction/redaction.ts';
import { recordTools } from '../../../../plugins/agent-engine/services/tools/skill-tools.ts';
import { shared } from '../../../support/shared.ts';
import { until } from '../../../support/until.ts';
import { skillText } from '../../records/services/skills/kit.ts';
import { startContextGateway } from './context-gateway.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
const gateway = shared((file) => startContextGateway(file));
const put = (body: string, type = 'text/plain') => ({
  method: 'PUT',
  body,
  headers: { 'content-type': type },
});

/** The skills of a list that a tenant has written. */
const changedIn = (body: { readonly skills: readonly { readonly user_modified: boolean }[] }) =>
  body.skills.filter((skill) => skill.user_modified);

test('a tenant has the 81 built-in skills, and reads each', async (t) => {
  const { request, makeTenant } = await gateway();
  const { id, token } = await makeTenant();
  const { body } = await request('/v1/skills', { token });
  t.deepEqual([body.tenant_id, body.total, body.skills.length], [id, 81, 81]);
  for (const { name, description, ...rest } of body.skills) {
    t.deepEqual(rest, { version: '1.0.0', source: 'builtin', user_modified: false }, name);
    const text = (await request(`/v1/skills/${name}`, { token })).body as string;
    t.true(text.startsWith(`---\nname: ${name}\ndescription: ${description}\nversion: 1.0.0\n---\n`), name);
  }
});

test('a skill is uploaded, listed, read and deleted', async (t) => {
  const { id, request } = await (await gateway()).tenant();
  t.is((await request('/v1/skills')).body.total, 81);
  const text = `${skillText('my-skill')}\r\n🍵\t\n`;
  const made = await request('/v1/skills/my-skill', put(text));
  t.deepEqual([made.status, made.body], [200, { status: 'uploaded', skill: 'my-skill' }]);
  const { body } = await request('/v1/skills');
  t.like(body, { tenant_id: id, total: 82 });
  t.deepEqual(changedIn(body), [
    {
      name: 'my-skill',
      description: 'About my-skill',
      version: '1.0.0',
      source: 'user',
      user_modified: true,
    } as never,
  ]);
  const read = await request('/v1/skills/my-skill');
  t.deepEqual([read.body, read.headers.get('content-type')], [text, 'text/markdown; charset=utf-8']);
  t.is((await request('/v1/skills/my-skill', put(text, 'text/markdown; charset=utf-8'))).status, 200);
  t.is((await request('/v1/skills/my-skill', { method: 'DELETE' })).status, 204);
  const again = await request('/v1/skills/my-skill', { method: 'DELETE' });
  t.deepEqual([again.status, again.body.code], [404, 'skill.not-found']);
  t.is((await request('/v1/skills/my-skill')).status, 404);
});

test('what is wrong with an upload is told, and nothing is stored', async (t) => {
  const { request } = await (await gateway()).tenant();
  const code = async (path: string, body: string, type?: string) => {
    const response = await request(path, put(body, type));
    return [response.status, response.body.code];
  };
  t.deepEqual(await code('/v1/skills/a', skillText('b')), [400, 'skill.invalid']);
  t.deepEqual(await code('/v1/skills/a', ''), [400, 'request.invalid']);
  for (const name of ['A', 'a%2Fb', '..%2Fa', '%2e%2e%2fSOUL.md', 'a.b', 'x'.repeat(65)]) {
    t.deepEqual(await code(`/v1/skills/${name}`, skillText('a')), [400, 'skill.invalid-name'], name);
    t.is((await request(`/v1/skills/${name}`)).status, 400, name);
  }
  t.is((await code('/v1/skills/a', skillText('a').padEnd(1024 * 1024 + 1, 'x')))[0], 413);
  t.is((await code('/v1/skills/a', skillText('a'), 'application/json'))[0], 415);
  t.is((await request('/v1/skills')).body.total, 81);
  t.deepEqual(await code('/v1/skills/a', skillText('a').padEnd(1024 * 1024, 'x')), [200, undefined]);
});

test('the role admin or the scope skills:write may write; users read their own tenant alone', async (t) => {
  const { request, makeTenant, key } = await gateway();
  const [{ id }, other] = [await makeTenant(), await makeTenant()];
  const write = async (roles: string[], scopes: string[] = []) =>
    (await request('/v1/skills/a', { ...put(skillText('a')), token: await key(id, roles, scopes) })).status;
  t.is(await write(['user']), 403);
  t.is(await write(['user'], ['write']), 403);
  t.is(await write(['auditor']), 403);
  t.is(await write(['user'], ['skills:write']), 200);
  t.is(await write(['auditor'], ['skills:*']), 200);
  t.is(await write(['admin']), 200);
  t.is(await write(['admin'], ['read']), 200);
  t.is(await write(['owner']), 200);
  const user = await key(id, ['user']);
  t.is((await request('/v1/skills', { token: user })).body.total, 82);
  t.is((await request('/v1/skills/a', { token: user })).status, 200);
  t.is((await request('/v1/skills/a', { method: 'DELETE', token: user })).status, 403);
  t.is((await request('/v1/soul', { ...put('x'), token: user })).status, 403);
  t.is((await request('/v1/skills', { token: other.token })).body.total, 81);
  t.is((await request('/v1/skills/a', { token: other.token })).status, 404);
  t.is((await request('/v1/skills', { token: null })).status, 401);
});

test('a tenant that was kicked has a SOUL.md; what it changes and deletes of the built-in skills is its own', async (t) => {
  const { request, makeTenant, context } = await gateway();
  const { id, token } = await makeTenant();
  await context.provisioning.kick(id);
  const other = await makeTenant();
  await until(async () => (await request('/v1/soul', { token })).status === 200);
  t.is((await request('/v1/skills/write-sql', { method: 'DELETE', token })).status, 204);
  await context.provisioning.kick(id);
  await request('/v1/skills/write-email', { ...put(skillText('write-email')), token });
  const after = (await request('/v1/skills', { token })).body;
  t.is(after.total, 80);
  t.is((await request('/v1/skills/write-sql', { token })).status, 404);
  t.is((await request('/v1/skills', { token: other.token })).body.total, 81);
  t.not((await request('/v1/skills/write-email', { token: other.token })).body, skillText('write-email'));
  t.like(
    after.skills.find(({ name }: { name: string }) => name === 'write-email'),
    {
      source: 'builtin',
      user_modified: true,
    },
  );
});

test('a preamble shows what routes changed', async (t) => {
  const { request, makeTenant, context } = await gateway();
  const { id, token } = await makeTenant();
  const ana = { tenantId: id, identityId: 'key', userId: 'ana' };
  const shows = (text: string) =>
    until(async () => (await context.preambles.of(ana, 2000, ['About a tea-pot'])).text.includes(text), 900);
  t.regex((await context.preambles.of(ana, 2000, [])).text, /^<skills>\nInstructions are installed for 81 /);
  const headers = { 'x-svc-user-id': 'ana', 'content-type': 'text/plain' };
  await request('/v1/soul', { ...put('Be kind.'), token });
  await shows('Be kind.');
  await request('/v1/skills/tea-pot', { ...put(skillText('tea-pot')), token });
  await shows('- tea-pot: About tea-pot');
  await request('/v1/profile', { method: 'PUT', body: 'I am Ana.', headers, token });
  await shows('I am Ana.');
  await request('/v1/memories/tea', {
    method: 'PUT',
    body: { value: 'green' },
    headers: { 'x-svc-user-id': 'ana' },
    token,
  });
  await shows('- tea: green');
  t.pass();
});

test('without object storage skills answer 503, memories and profiles work, and no tool of skills is offered', async (t) => {
  const { request, context, gateway } = await startContextGateway(t, { env: { OBJECT_STORE_URL: 'none' } });
  for (const [path, options] of [
    ['/v1/skills', {}],
    ['/v1/skills/a', {}],
    ['/v1/skills/a', put(skillText('a'))],
    ['/v1/skills/a', { method: 'DELETE' }],
    ['/v1/soul', {}],
    ['/v1/soul', put('x')],
  ] as const) {
    const { status, body } = await request(path, options);
    t.deepEqual([status, body.code], [503, 'objects.unavailable'], path);
  }
  t.is((await request('/v1/memories/a', { method: 'PUT', body: { value: 'x' } })).status, 200);
  const { database, objects } = gateway.gateway.services;
  const sources = recordTools({ ...context, database, objects, guard: createRedaction() });
  const { signal } = new AbortController();
  const tools = await Promise.all(sources.map((source) => source.list(DEFAULT_TENANT, signal)));
  t.deepEqual(
    tools.flat().map(({ name }) => name),
    ['memory_save', 'memory_search', 'memory_forget'],
  );
  await context.provisioning.kick(DEFAULT_TENANT);
});
