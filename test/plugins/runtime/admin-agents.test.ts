import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { type TenantAgent, TenantAgentsPoint } from '../../../plugins/agent-engine/contract.ts';
import platform from '../../../plugins/platform/plugin.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { testPlugin } from '../../support/plugins.ts';
import { shared } from '../../support/shared.ts';
import { until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';
import { LOCAL, makeWebhook, startReceiver } from './webhook-kit.ts';

const PATH = '/api/v2/admin/agents';

const agentYaml = (name: string, spec = 'type: chat_model_agent, model: {primary: demo}', about = 'Helps') =>
  `apiVersion: svc/v1\nkind: Agent\nmetadata:\n  name: ${name}\n  description: ${about}\nspec: {${spec}}\n`;

const supervisor = (name: string, ...subs: readonly string[]) =>
  agentYaml(
    name,
    `type: supervisor, model: {primary: demo}, sub_agents: [${subs.map((ref) => `{ref: ${ref}}`).join(', ')}]`,
  );

const post = (gateway: TestGateway, token: string, yaml: string, at = PATH) =>
  gateway.request(at, { method: 'POST', body: { yaml }, token });

const put = (gateway: TestGateway, token: string, name: string, yaml: string) =>
  gateway.request(`${PATH}/${name}`, { method: 'PUT', body: { yaml }, token });

const chat = (gateway: TestGateway, token: string, agent: string) => {
  const body = { agent_id: agent, message: 'Hello' };
  return gateway.request('/api/v2/chat/stream', { method: 'POST', body, token });
};

const namesFor = async (gateway: TestGateway, token: string) =>
  (await gateway.request('/api/v2/agents', { token })).body.agents.map(({ name }: { name: string }) => name);

const runtime = shared((file) => startRuntime(file));

eachGatewayDatabase(
  test,
  'a tenant makes, reads, changes, runs and deletes agents of its own',
  async (t, fresh) => {
    const gateway = await startRuntime(t, { env: { ...fresh.environment } });
    t.is(await gateway.gateway.services.database.schemaDrift(), '');
    await post(gateway, gateway.token, agentYaml('common'));
    const { token } = await gateway.makeTenant();
    const other = await gateway.makeTenant('other');

    const yaml = agentYaml('mine');
    const made = await post(gateway, token, yaml);
    t.is(made.status, 201);
    const { agent } = made.body;
    t.like(agent, { name: 'mine', description: 'Helps', type: 'chat_model_agent', source: 'tenant', yaml });
    t.regex(agent.created_at, /\.\d{3}Z$/);
    t.deepEqual((await gateway.request(`${PATH}/mine`, { token })).body, { agent });
    t.is((await post(gateway, token, yaml)).status, 409);
    t.is((await post(gateway, token, agentYaml('common'))).body.code, 'agent.exists');

    t.is((await post(gateway, token, supervisor('boss', 'mine', 'common'))).status, 201);
    t.is((await chat(gateway, token, 'boss')).status, 200);
    t.is((await chat(gateway, token, 'mine')).status, 200);
    t.deepEqual(await namesFor(gateway, token), ['common', 'boss', 'mine']);
    const listed = (await gateway.request(`${PATH}?limit=2&offset=1`, { token })).body;
    t.deepEqual(
      listed.agents.map(({ name, source, yaml }: Record<string, string>) => [name, source, yaml]),
      [
        ['mine', 'tenant', undefined],
        ['common', 'file', undefined],
      ],
    );
    t.like(listed, { total: 3, limit: 2, offset: 1 });

    for (const one of [other.token, gateway.token]) {
      t.deepEqual(await namesFor(gateway, one), ['common']);
      t.is((await chat(gateway, one, 'mine')).status, 404);
      t.is((await gateway.request(`${PATH}/mine`, { token: one })).status, 404);
      t.is((await put(gateway, one, 'mine', yaml)).status, 404);
      t.is((await gateway.request(`${PATH}/mine`, { method: 'DELETE', token: one })).status, 404);
    }
    t.is((await post(gateway, other.token, supervisor('thief', 'mine'))).status, 400);
    t.is((await post(gateway, other.token, yaml)).status, 201, 'names belong to tenants');

    const changed = await put(gateway, token, 'mine', agentYaml('mine', undefined, 'Other'));
    t.like(changed.body.agent, { description: 'Other', created_at: agent.created_at });
    t.is((await gateway.request(`${PATH}/mine`, { method: 'DELETE', token })).body.code, 'agent.in-use');
    for (const name of ['boss', 'mine']) {
      t.is((await gateway.request(`${PATH}/${name}`, { method: 'DELETE', token })).status, 204);
      t.is((await chat(gateway, token, name)).status, 404);
    }
  },
);

test('a definition is checked by the rules of the YAML kind, with lines', async (t) => {
  const gateway = await runtime();
  const { token } = await gateway.makeTenant();
  const validate = async (yaml: string) =>
    (await post(gateway, token, yaml, `${PATH}/validate`)).body as {
      valid: boolean;
      errors: { line: number; pointer: string; message: string }[];
    };
  t.deepEqual(await validate(agentYaml('fine')), { valid: true, errors: [], warnings: [] });
  const first = async (yaml: string) => {
    const { valid, errors } = await validate(yaml);
    t.false(valid);
    const [{ line, pointer, message } = { line: 0, pointer: '', message: '' }] = errors;
    return `${line} ${pointer} ${message}`;
  };
  t.regex(await first(agentYaml('x', 'type: robot')), /^6 \/spec\/type /);
  t.regex(await first(agentYaml('no name')), /^4 \/metadata\/name /);
  t.regex(await first(supervisor('x', 'nowhere')), /^6 \/spec\/sub_agents\/0\/ref there is no Agent/);
  t.regex(await first(`${agentYaml('x')}---\n${agentYaml('y')}`), /^8 {2}a second document/);
  t.regex(await first(agentYaml('x').replace('Agent', 'Model')), /^2 \/kind must be Agent/);
  for (const nothing of ['# nothing', '']) t.regex(await first(nothing), /holds no resource/);
  t.regex(await first('['.repeat(60_000)), /\w/);
  t.regex(await first(`a: &a [${'*a,'.repeat(200)}]`), /\w/);

  t.is((await post(gateway, token, supervisor('a', 'a'))).status, 400);
  await post(gateway, token, agentYaml('b'));
  await post(gateway, token, supervisor('a', 'b'));
  const circle = await put(gateway, token, 'b', supervisor('b', 'a'));
  t.is(circle.status, 400);
  t.regex(circle.body.errors[0].message, /closes a circle/);
  t.like(circle.body.errors[0], { pointer: '/body/yaml/spec/sub_agents/0/ref', line: 6 });
  const renamed = await put(gateway, token, 'b', agentYaml('c'));
  t.is(renamed.body.errors[0].pointer, '/body/yaml/metadata/name');
});

test('all problems of a definition are told at once: of its name, of its schema, and of other rules', async (t) => {
  const gateway = await runtime();
  const { token } = await gateway.makeTenant();
  const tools = "tools: [{ref: 'no tool'}, {ref: builtin/x}, {ref: builtin/x}, {ref: 7}, 8]";
  const bad = `type: chat_model_agent, max_iterations: 0, ${tools}, sub_agents: [{ref: a}, {ref: a}]`;
  const ofSpec = [
    '/max_iterations',
    '/sub_agents',
    '/sub_agents/1/ref',
    '/tools/0/ref',
    '/tools/2/ref',
    '/tools/3/ref',
    '/tools/4',
  ].map((pointer) => `/spec${pointer}`);
  const told = ['/metadata/name', ...ofSpec];
  const pointersOf = (errors: readonly { readonly pointer: string }[]) =>
    errors.map(({ pointer }) => pointer).toSorted();
  const inBody = told.map((pointer) => `/body/yaml${pointer}`);
  const made = await post(gateway, token, agentYaml('no name', bad));
  t.is(made.body.code, 'agent.definition-invalid');
  t.deepEqual(pointersOf(made.body.errors), inBody);
  t.deepEqual(
    pointersOf((await post(gateway, gateway.token, agentYaml('no name', bad))).body.errors),
    inBody,
  );
  const looked = (await post(gateway, token, agentYaml('no name', bad), `${PATH}/validate`)).body;
  t.deepEqual(pointersOf(looked.errors), told);

  t.is((await post(gateway, token, agentYaml('mine'))).status, 201);
  for (const name of ['yours', 'no name']) {
    t.deepEqual(
      pointersOf((await put(gateway, token, 'mine', agentYaml(name, bad))).body.errors),
      inBody,
      name,
    );
  }
  const lost = await put(gateway, token, 'mine', supervisor('yours', 'nobody', 'nowhere'));
  t.deepEqual(pointersOf(lost.body.errors), [
    '/body/yaml/metadata/name',
    '/body/yaml/spec/sub_agents/0/ref',
    '/body/yaml/spec/sub_agents/1/ref',
  ]);
});

test('tools and a model that nobody offers are warnings, with the name that was meant', async (t) => {
  const gateway = await runtime();
  const { token } = await gateway.makeTenant();
  const refs = [
    'builtin/calculater',
    'builtin/calculator',
    'mcp://away/search',
    'plugin/gone/tool',
    'skill://none',
  ];
  const tools = refs.map((ref) => `{ref: '${ref}'}`).join(', ');
  const yaml = agentYaml('clerk', `type: chat_model_agent, model: {primary: demmo}, tools: [${tools}]`);
  const { body } = await post(gateway, token, yaml, `${PATH}/validate`);
  t.like(body, { valid: true, errors: [] });
  t.deepEqual(
    body.warnings.map(({ pointer, message }: Record<string, string>) => `${pointer} ${message}`),
    [
      '/spec/tools/0/ref there is no tool builtin/calculater now, so runs leave it out; did you mean builtin/calculator?',
      '/spec/tools/2/ref there is no tool mcp://away/search now, so runs leave it out',
      '/spec/tools/3/ref there is no tool plugin/gone/tool now, so runs leave it out',
      '/spec/tools/4/ref there is no tool skill://none now, so runs leave it out',
      '/spec/model/primary there is no model demmo now, so runs fail; did you mean demo?',
    ],
  );
  t.true(body.warnings.every(({ line }: { line: number }) => line === 6));
  const made = await post(gateway, token, yaml);
  t.is(made.status, 201);
  t.deepEqual(made.body.warnings, body.warnings);
  t.deepEqual((await put(gateway, token, 'clerk', agentYaml('clerk'))).body.warnings, []);
  const changed = await put(gateway, token, 'clerk', yaml);
  t.deepEqual([changed.status, changed.body.warnings], [200, body.warnings]);
});

test('an operator writes files of agents.d, which tenants see without their text and do not change', async (t) => {
  const gateway = await startRuntime(t);
  const { token } = await gateway.makeTenant();
  const yaml = agentYaml('common');
  const made = await post(gateway, gateway.token, yaml);
  t.deepEqual([made.status, made.body.agent.source, made.body.agent.yaml], [201, 'file', yaml]);
  const file = path.join(gateway.folder, 'agents.d', 'common.yaml');
  t.is(await readFile(file, 'utf8'), yaml);
  t.is((await post(gateway, gateway.token, yaml)).status, 409);

  const { agent } = (await gateway.request(`${PATH}/common`, { token })).body;
  t.deepEqual(agent, { name: 'common', description: 'Helps', type: 'chat_model_agent', source: 'file' });
  t.is((await put(gateway, token, 'common', yaml)).body.code, 'agent.read-only');
  t.is((await gateway.request(`${PATH}/common`, { method: 'DELETE', token })).status, 403);
  t.is((await chat(gateway, token, 'common')).status, 200);

  const owner = await gateway.gateway.services.apiKeys.create({
    tenantId: '00000000-0000-0000-0000-000000000001',
    name: 'owner',
    roles: ['owner'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  });
  t.is((await put(gateway, owner.key, 'common', yaml)).status, 403, 'an owner is no operator');

  const changed = agentYaml('common', undefined, 'Other');
  t.is((await put(gateway, gateway.token, 'common', changed)).status, 200);
  t.is(await readFile(file, 'utf8'), changed);
  await writeFile(
    path.join(gateway.folder, 'agents.d', 'two.yaml'),
    `${agentYaml('p')}---\n${agentYaml('q')}`,
  );
  await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  t.is((await put(gateway, gateway.token, 'p', agentYaml('p'))).body.code, 'agent.shared-file');
  t.is((await gateway.request(`${PATH}/common`, { method: 'DELETE' })).status, 204);
  t.is((await gateway.request(`${PATH}/common`)).status, 404);
});

eachGatewayDatabase(
  test,
  'changes reach other replicas, and agents are there after a restart',
  async (t, fresh) => {
    const env = { ...fresh.environment };
    const [one, second] = [await startRuntime(t, { env }), await startRuntime(t, { env })];
    const { token } = await one.makeTenant();
    const described = async (gateway: TestGateway) => {
      const { agents } = (await gateway.request('/api/v2/agents', { token })).body;
      return agents[0]?.description;
    };
    t.is((await chat(second, token, 'mine')).status, 404);
    for (const about of ['First', 'Second']) {
      const yaml = agentYaml('mine', undefined, about);
      await (about === 'First' ? post(one, token, yaml) : put(one, token, 'mine', yaml));
      t.is(await described(one), about, 'here it is known at once');
      await until(async () => (await described(second)) === about);
      await until(async () => (await chat(second, token, 'mine')).status === 200);
    }
    await one.stop();
    await second.stop();
    const third = await startRuntime(t, { env });
    t.is(await described(third), 'Second');
  },
);

test('chats of the platform run a tenant’s agents as well', async (t) => {
  const gateway = await startRuntime(t, { plugins: [platform] });
  const { token } = await gateway.makeTenant();
  await post(gateway, token, agentYaml('mine'));
  const ask = (agent: string) =>
    gateway.request('/v1/agent/chat', {
      method: 'POST',
      token,
      body: { agent, messages: [{ role: 'user', content: 'Hello' }] },
    });
  t.is((await ask('mine')).status, 200);
  t.is((await ask('none')).status, 404);
});

test('an agent that an agent of agents.d is taken from does not run, and says why', async (t) => {
  const gateway = await startRuntime(t);
  const { token } = await gateway.makeTenant();
  await post(gateway, gateway.token, agentYaml('common'));
  await post(gateway, token, supervisor('boss', 'common'));
  await gateway.request(`${PATH}/common`, { method: 'DELETE' });
  const refused = await chat(gateway, token, 'boss');
  t.deepEqual([refused.status, refused.body.code], [409, 'agent.not-usable']);
  t.regex(refused.body.detail, /line 6, \/spec\/sub_agents\/0\/ref: there is no Agent with the name common/);
  const { agents } = (await gateway.request('/api/v2/admin/status', { token })).body;
  t.like(agents[0], { name: 'boss', status: 'failed', error: 'there is no Agent with the name common' });

  await post(gateway, gateway.token, agentYaml('boss', undefined, 'Of the deployment'));
  t.is((await chat(gateway, token, 'boss')).status, 200, 'a file comes first');
  const now = (await gateway.request('/api/v2/admin/status', { token })).body.agents;
  t.like(now, [
    { name: 'boss', status: 'live' },
    { name: 'boss', status: 'failed' },
  ]);
  const own = (await gateway.request(`${PATH}/boss`, { token })).body.agent;
  t.deepEqual([own.source, own.yaml], ['tenant', supervisor('boss', 'common')]);
  t.is((await gateway.request(`${PATH}/boss`, { method: 'DELETE', token })).status, 204);
  t.is((await gateway.request(`${PATH}/boss`, { method: 'DELETE', token })).status, 403);
});

test('agents that another plugin brings are there beside those of the API, whichever came first', async (t) => {
  const brought = (name: string): TenantAgent => ({
    name,
    description: 'Brought',
    type: 'chat_model_agent',
    model: 'demo',
    source: 'tenant',
    subAgents: [],
    yaml: agentYaml(name, undefined, 'Brought'),
  });
  const agents = [brought('extra'), brought('mine')];
  const bringer = testPlugin('bringer', {
    setup: (scope) =>
      scope.contribute(TenantAgentsPoint, {
        list: () => agents,
        find: (_, name) => agents.find((agent) => agent.name === name),
      }),
  });
  const gateway = await startRuntime(t, { plugins: [bringer] });
  const { token } = await gateway.makeTenant();
  t.is((await post(gateway, token, agentYaml('mine'))).status, 201);
  t.is((await post(gateway, token, supervisor('boss', 'mine', 'extra'))).status, 201);
  // A plugin that is enabled again comes last.
  for (const [last, described] of [
    ['runtime', 'Brought'],
    ['bringer', 'Helps'],
  ]) {
    await gateway.request(`/admin/v1/plugins/${last}/disable`, { method: 'POST' });
    await gateway.request(`/admin/v1/plugins/${last}/enable`, { method: 'POST' });
    const { agents: shown } = (await gateway.request('/api/v2/agents', { token })).body;
    const mine = { name: 'mine', description: described, type: 'chat_model_agent' };
    t.deepEqual(
      shown.filter(({ name }: { name: string }) => name === 'mine'),
      [mine],
    );
    t.deepEqual((await namesFor(gateway, token)).sort(), ['boss', 'extra', 'mine']);
    for (const name of ['boss', 'extra', 'mine']) t.is((await chat(gateway, token, name)).status, 200, name);
  }
});

test('webhooks hear of changes, each of its own tenant', async (t) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: LOCAL });
  const { token } = await gateway.makeTenant();
  await makeWebhook(gateway, { url: `${receiver.url}/tenant`, events: ['agent.*'] }, token);
  await makeWebhook(gateway, { url: `${receiver.url}/operator`, events: ['agent.*'] });
  await post(gateway, token, agentYaml('mine'));
  await put(gateway, token, 'mine', agentYaml('mine'));
  await gateway.request(`${PATH}/mine`, { method: 'DELETE', token });
  await post(gateway, gateway.token, agentYaml('common'));
  await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  await until(() => receiver.received.length === 5);
  const seen = receiver.received
    .map(({ path, body }) => `${path} ${body.type} ${body.data.name ?? ''}`)
    .sort();
  t.deepEqual(seen, [
    '/operator agent.created common',
    '/operator agent.reloaded ',
    '/tenant agent.created mine',
    '/tenant agent.deleted mine',
    '/tenant agent.updated mine',
  ]);
});

test('a tenant has a hundred agents at most, and only administrators may look', async (t) => {
  const gateway = await runtime();
  const { id, token } = await gateway.makeTenant();
  for (let n = 0; n < 98; n += 1) t.is((await post(gateway, token, agentYaml(`a${n}`))).status, 201);
  const last = Array.from({ length: 8 }, (_, n) => post(gateway, token, agentYaml(`b${n}`)));
  const statuses = (await Promise.all(last)).map(({ status }) => status).sort();
  t.deepEqual(statuses, [201, 201, ...Array(6).fill(409)], 'simultaneous ones too');
  t.is((await post(gateway, token, agentYaml('more'))).body.code, 'agent.too-many');
  const { key } = await gateway.gateway.services.apiKeys.create({
    tenantId: id,
    name: 'user',
    roles: ['user'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  });
  for (const at of [PATH, `${PATH}/a1`, '/api/v2/admin/status', '/api/v2/admin/logs']) {
    t.is((await gateway.request(at, { token: key })).status, 403, at);
    t.is((await gateway.request(at, { token: null })).status, 401, at);
  }
});
