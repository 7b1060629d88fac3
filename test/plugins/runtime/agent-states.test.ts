import test from 'ava';
import { AgentStateEntity } from '../../../plugins/runtime/store/agent-states.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { startRecords } from './records-gateway.ts';

const STATE = '/api/v2/agents/helper/state';
const post = (key: unknown, value: unknown) => ({ method: 'POST', body: { key, value } });
const remove = { method: 'DELETE' };

eachGatewayDatabase(
  test,
  'state of an agent is kept, read, written over and deleted, and is its tenant’s alone',
  async (t, fresh) => {
    const gateway = await startRecords(t, { env: { ...fresh.environment } });
    const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
    const as = { token: one.token };
    const values = { none: null, deep: { a: [1, 'ü\0\ud800', { __proto__x: true }] }, '🍵/ü': false, n: 0 };
    for (const [key, value] of Object.entries(values)) {
      const set = await gateway.request(STATE, { ...post(key, value), ...as });
      t.deepEqual([set.status, set.body], [200, { agent_id: 'helper', key, value }]);
    }
    const again = await gateway.request(STATE, { ...post('n', 1), ...as });
    t.is(again.body.value, 1);
    const all = await gateway.request(STATE, as);
    t.deepEqual(all.body, { agent_id: 'helper', state: { ...values, n: 1 } });
    const one_ = await gateway.request(`${STATE}/${encodeURIComponent('🍵/ü')}`, as);
    t.deepEqual(one_.body, { agent_id: 'helper', key: '🍵/ü', value: false });

    const theirs = { token: two.token };
    t.deepEqual((await gateway.request(STATE, theirs)).body.state, {});
    t.is((await gateway.request(`${STATE}/n`, theirs)).body.code, 'agent-state.not-found');
    t.is((await gateway.request(`${STATE}/n`, { ...remove, ...theirs })).status, 404);
    t.deepEqual((await gateway.request('/api/v2/agents/other/state', as)).body.state, {});

    const user = await gateway.key(one.id);
    t.is((await gateway.request(`${STATE}/n`, { ...remove, token: user.token })).status, 403);
    t.is((await gateway.request(`${STATE}/n`, { ...remove, token: null })).status, 401);
    t.is((await gateway.request(`${STATE}/n`, { ...remove, ...as })).status, 204);
    t.is((await gateway.request(`${STATE}/n`, { ...remove, ...as })).status, 404);
    t.deepEqual((await gateway.exported(one.id)).map(({ record }) => record.key).sort(), [
      'deep',
      'none',
      '🍵/ü',
    ]);
    t.deepEqual(await gateway.exported(one.id, user.id), [], 'it belongs to no user');
    t.like(await gateway.erase(one.id), { agent_states: 3 });
    t.deepEqual((await gateway.request(STATE, as)).body.state, {});
    t.is(await gateway.database.schemaDrift(), '');
  },
);

test('an unknown agent is 404, and what is wrong is told by field', async (t) => {
  const { request } = await startRecords(t);
  const nobody = '/api/v2/agents/nobody/state';
  for (const [path, options] of [
    [nobody, {}],
    [`${nobody}/a`, {}],
    [nobody, post('a', 1)],
    [`${nobody}/a`, remove],
    ['/api/v2/agents/%00/state', {}],
  ] as const) {
    const { status, body } = await request(path, options);
    t.deepEqual([status, body.code], [404, 'agent.not-found'], path);
  }
  t.is((await request(`${STATE}/%00`)).status, 404);
  for (const body of [
    { key: '', value: 1 },
    { key: 'a\0', value: 1 },
    { key: '..', value: 1 },
    { key: 'x'.repeat(129), value: 1 },
    { key: 1, value: 1 },
    { value: 1 },
  ]) {
    const { status, body: answer } = await request(STATE, { method: 'POST', body });
    t.deepEqual([status, answer.errors[0].pointer], [400, '/body/key'], JSON.stringify(body));
  }
  t.is((await request(STATE, { method: 'POST', body: { key: 'a' } })).body.errors[0].pointer, '/body/value');
});

test('what an agent keeps is bounded: a value, its keys, and all values together', async (t) => {
  const gateway = await startRecords(t);
  const tenant = await gateway.makeTenant();
  const set = (key: string, value: unknown) =>
    gateway.request(STATE, { ...post(key, value), token: tenant.token });
  const large = await set('a', 'ü'.repeat(32 * 1024));
  t.deepEqual([large.status, large.body.code], [413, 'agent-state.value-too-large']);
  const keys = (from: number, to: number, size: number) =>
    Array.from({ length: to - from }, (_, index) => ({
      agentId: 'helper',
      key: `key-${from + index}`,
      value: '1',
      size,
      updatedAt: new Date(0),
    }));
  const entities = gateway.database.forTenant(tenant.id);
  await entities.insertMany(AgentStateEntity, keys(0, 128, 64 * 1024));
  const together = await set('key-128', 1);
  t.deepEqual([together.status, together.body.code], [409, 'agent-state.full']);
  t.is((await set('key-0', 1)).status, 200, 'over a larger one');
  t.is((await set('key-128', 1)).status, 200);
  await entities.insertMany(AgentStateEntity, keys(129, 1000, 1));
  t.is((await set('one more', 1)).body.detail, 'An agent may keep 1000 keys');
  t.is((await set('key-999', 2)).status, 200, 'over one that is there');
  t.is(Object.keys((await gateway.request(STATE, { token: tenant.token })).body.state).length, 1000);
});
