import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import type { GrpcAnswer } from '../../../testing/grpc-client.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startGrpcRuntime } from './grpc-kit.ts';
import { startRuntime } from './runtime-gateway.ts';
import { LOCAL, makeWebhook, startReceiver } from './webhook-kit.ts';

const PATH = '/api/v2/admin/agents';

const agentYaml = (name: string, prompt = 'One') =>
  `# mine\napiVersion: svc/v1\nkind: Agent\nmetadata: { name: ${name} }\nspec:\n  type: chat_model_agent\n  system_prompt: ${prompt}\n`;

const supervisor = (name: string, ref: string) => ({
  name,
  type: 'supervisor',
  configuration: { sub_agents: [{ ref }] },
});

/** Status and code of a call that failed. */
const failureOf = ({ code, metadata }: GrpcAnswer) => [code, metadata['svc-error-code']];

test('the operator makes, changes and deletes files of agents.d, named as over HTTP', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const folder = path.join(gateway.folder, 'agents.d');
  const agents = client('agent');
  const configuration = {
    system_prompt: 'You greet.',
    tools: [{ ref: 'builtin/calculator' }],
    max_iterations: 3,
  };
  const made = await agents.call('CreateAgent', { name: 'greeter', description: 'Greets', configuration });
  t.is(made.code, 'OK', made.details);
  const { agent } = made.message;
  t.like(agent, { id: 'greeter', name: 'greeter', type: 'chat_model_agent', status: 'active' });
  t.is(agent.source, 'file');
  t.deepEqual(agent.configuration, { type: 'chat_model_agent', ...configuration });
  t.true(Math.abs(Date.parse(agent.updated_at) - Date.now()) < 600_000);
  t.true((await readdir(folder)).includes('greeter.yaml'));
  const again = await agents.call('CreateAgent', { name: 'greeter' });
  t.deepEqual(failureOf(again), ['ALREADY_EXISTS', 'agent.exists']);

  const changed = await agents.call('UpdateAgent', { id: 'greeter', description: 'Waves' });
  t.like(changed.message.agent, { description: 'Waves', configuration: agent.configuration });
  const shared = await agents.call('UpdateAgent', { id: 'payer', description: 'x' });
  t.deepEqual(failureOf(shared), ['FAILED_PRECONDITION', 'agent.shared-file']);
  t.is((await agents.call('DeleteAgent', { id: 'greeter' })).code, 'OK');
  t.false((await readdir(folder)).includes('greeter.yaml'));
  for (const method of ['GetAgent', 'UpdateAgent', 'DeleteAgent']) {
    const gone = await agents.call(method, { id: 'greeter' });
    t.deepEqual(failureOf(gone), ['NOT_FOUND', 'agent.not-found'], method);
  }
});

test('what is wrong with an agent is told at the field that it came from', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const tenant = await gateway.makeTenant();
  for (const agents of [client('agent'), client('agent', { token: tenant.token })]) {
    const wrong = async (method: string, request: object) => {
      const { code, violations, metadata } = await agents.call(method, request);
      t.is(code, 'INVALID_ARGUMENT');
      return [metadata['svc-error-code'], violations[0]?.field];
    };
    const INVALID = 'agent.definition-invalid';
    const tools = { name: 'bad', configuration: { tools: [{ ref: 'none' }] } };
    t.deepEqual(await wrong('CreateAgent', tools), [INVALID, 'configuration.tools[0].ref']);
    t.deepEqual(await wrong('CreateAgent', supervisor('bad', 'nobody')), [
      INVALID,
      'configuration.sub_agents[0].ref',
    ]);
    t.deepEqual(await wrong('CreateAgent', { name: 'a b' }), ['request.invalid', 'name']);
    const long = { name: 'long', configuration: { system_prompt: 'x'.repeat(65_536) } };
    t.deepEqual(await wrong('CreateAgent', long), [INVALID, 'configuration']);
    await agents.call('CreateAgent', { name: 'good' });
    t.deepEqual(await wrong('UpdateAgent', { id: 'good', configuration: { type: 'robot' } }), [
      INVALID,
      'configuration.type',
    ]);
    await agents.call('DeleteAgent', { id: 'good' });
  }
});

eachGatewayDatabase(
  test,
  'a document makes an agent or takes the place of the one of its name',
  async (t, fresh) => {
    const { gateway, client } = await startGrpcRuntime(t, [], { ...fresh.environment });
    const tenant = await gateway.makeTenant();
    for (const [token, source] of [
      [gateway.token, 'file'],
      [tenant.token, 'tenant'],
    ] as const) {
      const agents = client('agent', { token });
      const made = await agents.call('LoadAgentFromYAML', { yaml: agentYaml(source) });
      t.like(made.message.agent, { id: source, source, status: 'active' });
      const again = await agents.call('LoadAgentFromYAML', { yaml: agentYaml(source, 'Two') });
      t.is(again.message.agent.configuration.system_prompt, 'Two');
      const { body } = await gateway.request(`${PATH}/${source}`, { token });
      t.is(body.agent.yaml, agentYaml(source, 'Two'), 'as it was written, comments too');

      const broken = await agents.call('LoadAgentFromYAML', { yaml: `${agentYaml('x')}  wrong: 1\n` });
      t.deepEqual(failureOf(broken), ['INVALID_ARGUMENT', 'agent.definition-invalid']);
      t.is(broken.violations[0]?.field, 'yaml');
      t.regex(broken.violations[0]?.description ?? '', /^line 8: \/spec\/wrong /);
      const yaml = `${agentYaml('x')}---\n${agentYaml('other')}`;
      const two = await agents.call('LoadAgentFromYAML', { yaml });
      t.regex(two.violations[0]?.description ?? '', /^line \d+: a second document/);
    }
    t.is(
      await readFile(path.join(gateway.folder, 'agents.d', 'file.yaml'), 'utf8'),
      agentYaml('file', 'Two'),
      'a file of its name',
    );
    const taken = await client('agent', { token: tenant.token }).call('LoadAgentFromYAML', {
      yaml: agentYaml('file'),
    });
    t.deepEqual(failureOf(taken), ['PERMISSION_DENIED', 'agent.read-only']);
  },
);

eachGatewayDatabase(
  test,
  'a tenant makes, runs, changes and deletes agents of its own, alone',
  async (t, fresh) => {
    const { gateway, client, provider } = await startGrpcRuntime(
      t,
      [stream(['Hello.']), stream(['Hello.'])],
      fresh.environment as Record<string, string>,
    );
    const [tenant, other] = [await gateway.makeTenant(), await gateway.makeTenant('other')];
    const agents = client('agent', { token: tenant.token });
    const chat = (token: string) => {
      const request = { message: 'Hello', extra: { agent_name: 'mine' } };
      return client('conversation', { token }).call('Chat', request);
    };
    const instructions = async () => {
      t.is((await chat(tenant.token)).code, 'OK');
      return JSON.stringify(provider.requests.at(-1)?.body);
    };
    const before = Date.now();
    const configuration = { system_prompt: 'You greet in verse.' };
    const made = await agents.call('CreateAgent', { name: 'mine', description: 'Greets', configuration });
    t.is(made.code, 'OK', made.details);
    const { agent } = made.message;
    t.like(agent, { id: 'mine', description: 'Greets', source: 'tenant', status: 'active' });
    t.deepEqual(agent.configuration, { type: 'chat_model_agent', ...configuration });
    t.true(Date.parse(agent.created_at) >= before);
    t.deepEqual((await readdir(path.join(gateway.folder, 'agents.d'))).sort(), ['agents.yaml']);
    t.deepEqual((await agents.call('GetAgent', { id: 'mine' })).message.agent, agent);
    t.regex(await instructions(), /You greet in verse/);
    const again = await agents.call('CreateAgent', { name: 'mine' });
    t.deepEqual(failureOf(again), ['ALREADY_EXISTS', 'agent.exists']);
    const taken = await agents.call('CreateAgent', { name: 'payer' });
    t.deepEqual(failureOf(taken), ['ALREADY_EXISTS', 'agent.exists']);

    for (const token of [other.token, gateway.token]) {
      const theirs = client('agent', { token });
      for (const method of ['GetAgent', 'UpdateAgent', 'DeleteAgent']) {
        const refused = await theirs.call(method, { id: 'mine' });
        t.deepEqual(failureOf(refused), ['NOT_FOUND', 'agent.not-found'], method);
      }
      const { agents } = (await theirs.call('ListAgents')).message;
      t.deepEqual(agents.map(({ id }: { id: string }) => id).sort(), ['boss', 'payer']);
      t.deepEqual(failureOf(await chat(token)), ['NOT_FOUND', 'agent.not-found']);
    }

    const described = (await agents.call('UpdateAgent', { id: 'mine', description: 'Waves' })).message.agent;
    t.like(described, { description: 'Waves', created_at: agent.created_at });
    t.deepEqual(described.configuration, agent.configuration, 'what was not sent stays');
    const spec = { type: 'chat_model_agent', system_prompt: 'You wave.' };
    const configured = await agents.call('UpdateAgent', { id: 'mine', configuration: spec });
    t.like(configured.message.agent, { description: 'Waves', configuration: spec });
    t.regex(await instructions(), /You wave\./);
    t.is((await agents.call('DeleteAgent', { id: 'mine' })).code, 'OK');
    t.deepEqual(failureOf(await agents.call('GetAgent', { id: 'mine' })), ['NOT_FOUND', 'agent.not-found']);
    t.deepEqual(failureOf(await chat(tenant.token)), ['NOT_FOUND', 'agent.not-found']);
  },
);

test('an agent that others hand work over to is not deleted', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const tenant = await gateway.makeTenant();
  for (const [token, sub, leader] of [
    [gateway.token, 'worker', 'leader'],
    [tenant.token, 'own-worker', 'own-leader'],
  ] as const) {
    const agents = client('agent', { token });
    await agents.call('CreateAgent', { name: sub });
    const made = await agents.call('CreateAgent', supervisor(leader, sub));
    t.is(made.code, 'OK', made.details);
    const refused = await agents.call('DeleteAgent', { id: sub });
    t.deepEqual(failureOf(refused), ['FAILED_PRECONDITION', 'agent.in-use']);
    t.regex(refused.details, new RegExp(leader));
    for (const id of [leader, sub]) t.is((await agents.call('DeleteAgent', { id })).code, 'OK');
  }
});

test('webhooks hear of changes over gRPC, each of its own tenant', async (t) => {
  const receiver = await startReceiver(t);
  const { gateway, client } = await startGrpcRuntime(t, [], LOCAL);
  const tenant = await gateway.makeTenant();
  for (const [token, hears] of [
    [tenant.token, 'tenant'],
    [gateway.token, 'operator'],
  ] as const) {
    await makeWebhook(gateway, { url: `${receiver.url}/${hears}`, events: ['agent.*'] }, token);
    const agents = client('agent', { token });
    await agents.call('CreateAgent', { name: hears });
    await agents.call('UpdateAgent', { id: hears, description: 'Changed' });
    await agents.call('DeleteAgent', { id: hears });
    await agents.call('LoadAgentFromYAML', { yaml: agentYaml(`${hears}-2`) });
  }
  await until(() => receiver.received.length === 8);
  t.deepEqual(
    receiver.received
      .map(({ path, body }) => `${path} ${body.type} ${body.data.name} ${body.data.source}`)
      .sort(),
    [['operator', 'file'] as const, ['tenant', 'tenant'] as const].flatMap(([hears, source]) => [
      `/${hears} agent.created ${hears} ${source}`,
      `/${hears} agent.created ${hears}-2 ${source}`,
      `/${hears} agent.deleted ${hears} ${source}`,
      `/${hears} agent.updated ${hears} ${source}`,
    ]),
  );
});

test('what is made over HTTP is changed over gRPC, and the other way round', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const tenant = await gateway.makeTenant();
  for (const token of [gateway.token, tenant.token]) {
    const agents = client('agent', { token });
    const own = token === gateway.token ? 'theirs' : 'mine';
    const yaml = agentYaml(`http-${own}`);
    t.is((await gateway.request(PATH, { method: 'POST', body: { yaml }, token })).status, 201);
    const changed = await agents.call('UpdateAgent', { id: `http-${own}`, description: 'By gRPC' });
    t.is(changed.message.agent.configuration.system_prompt, 'One');
    const read = (await gateway.request(`${PATH}/http-${own}`, { token })).body.agent;
    t.is(read.description, 'By gRPC');
    t.regex(read.yaml, /^# mine\n/, 'comments stay');

    t.is((await agents.call('CreateAgent', { name: `grpc-${own}` })).code, 'OK');
    const body = { yaml: agentYaml(`grpc-${own}`, 'By HTTP') };
    t.is((await gateway.request(`${PATH}/grpc-${own}`, { method: 'PUT', body, token })).status, 200);
    const found = (await agents.call('GetAgent', { id: `grpc-${own}` })).message.agent;
    t.is(found.configuration.system_prompt, 'By HTTP');
  }
  const { message } = await client('agent', { token: tenant.token }).call('ListAgents', { page_size: 4 });
  const shown = message.agents.map(({ id, source, configuration }: Record<string, unknown>) => [
    id,
    source,
    configuration,
  ]);
  t.deepEqual(shown, [
    ['grpc-mine', 'tenant', undefined],
    ['http-mine', 'tenant', undefined],
    ['boss', 'file', undefined],
    ['grpc-theirs', 'file', undefined],
  ]);
  t.deepEqual([message.total, message.has_more], [6, true]);
  const listed = (await gateway.request(`${PATH}?limit=4`, { token: tenant.token })).body;
  t.deepEqual(
    listed.agents.map(({ name }: { name: string }) => name),
    shown.map(([id]: unknown[]) => id),
  );
  const found = await client('agent', { token: tenant.token }).call('ListAgents', { keyword: 'GRPC-' });
  t.deepEqual([found.message.total, found.message.has_more], [2, false]);
});

eachGatewayDatabase(test, 'of two changes at one moment none is lost', async (t, fresh) => {
  const env = fresh.environment as Record<string, string>;
  const { gateway, client } = await startGrpcRuntime(t, [], env);
  const second = await startRuntime(t, { env });
  const tenant = await gateway.makeTenant();
  const proto = new URL('../../../plugins/runtime/proto/svc/agent/v1/agent.proto', import.meta.url);
  const service = 'svc.agent.v1.AgentService';
  const here = client('agent', { token: tenant.token });
  const there = second.grpc({ proto, service, token: tenant.token });
  const operator = client('agent');
  for (const [one, other] of [
    [here, there],
    [operator, operator],
  ] as const) {
    await one.call('CreateAgent', { name: 'mine' });
    for (let round = 0; round < 5; round += 1) {
      const text = `Round ${round}`;
      const configuration = { type: 'chat_model_agent', system_prompt: text };
      const answers = await Promise.all([
        one.call('UpdateAgent', { id: 'mine', description: text }),
        other.call('UpdateAgent', { id: 'mine', configuration }),
      ]);
      t.deepEqual(
        answers.map(({ code }) => code),
        ['OK', 'OK'],
      );
      const { agent } = (await one.call('GetAgent', { id: 'mine' })).message;
      t.like(agent, { description: text, configuration });
    }
    await one.call('DeleteAgent', { id: 'mine' });
  }
});

test('an update of an agent whose document has aliases leaves nothing behind that leads nowhere', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const { token } = await gateway.makeTenant();
  const agents = client('agent', { token });
  const yaml =
    'apiVersion: svc/v1\nkind: Agent\nspec: {type: chat_model_agent, system_prompt: &p Pays}\nmetadata: {name: mine, description: *p}\n';
  t.is((await agents.call('LoadAgentFromYAML', { yaml })).code, 'OK');
  const configuration = { type: 'chat_model_agent', system_prompt: 'Waves' };
  const changed = await agents.call('UpdateAgent', { id: 'mine', configuration });
  t.is(changed.code, 'OK', changed.details);
  t.like(changed.message.agent, { description: 'Pays', configuration });
});

test('the instructions of an agent are for those who may change it', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const { id: tenantId, token } = await gateway.makeTenant();
  const { key } = await gateway.gateway.services.apiKeys.create({
    tenantId,
    name: 'reader',
    roles: ['user'],
    scopes: ['read'],
    expiresAt: null,
    createdBy: null,
  });
  const admin = client('agent', { token });
  await admin.call('CreateAgent', { name: 'mine', description: 'Own' });
  const get = async (id: string, asked: string | null) =>
    (await client('agent', { token: asked }).call('GetAgent', { id })).message.agent;
  t.truthy((await get('mine', token)).configuration);
  t.truthy((await get('payer', gateway.token)).configuration);
  for (const [name, asked] of [
    ['mine', key],
    ['payer', key],
    ['payer', token],
    ['payer', null],
  ] as const) {
    const agent = await get(name, asked);
    t.like(agent, { id: name, status: 'active' });
    t.is(agent.configuration, undefined, `${name} for ${asked}`);
  }

  const theirs = client('agent', { token });
  for (const [method, request] of [
    ['UpdateAgent', { id: 'payer', description: 'x' }],
    ['DeleteAgent', { id: 'payer' }],
    ['LoadAgentFromYAML', { yaml: agentYaml('payer') }],
  ] as const) {
    const refused = await theirs.call(method, request);
    t.deepEqual(failureOf(refused), ['PERMISSION_DENIED', 'agent.read-only'], method);
    t.regex(refused.details, /default tenant/);
  }
});

test('a file that takes the name of a tenant’s agent comes first, and the tenant can still delete its own', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const { id: tenantId, token } = await gateway.makeTenant();
  const { key } = await gateway.gateway.services.apiKeys.create({
    tenantId,
    name: 'reader',
    roles: ['user'],
    scopes: ['read'],
    expiresAt: null,
    createdBy: null,
  });
  const admin = client('agent', { token });
  const reader = client('agent', { token: key });
  await admin.call('CreateAgent', { name: 'common', description: 'Own' });
  await client('agent').call('CreateAgent', { name: 'common', description: 'Of the deployment' });
  t.like((await reader.call('GetAgent', { id: 'common' })).message.agent, {
    source: 'file',
    status: 'active',
  });
  t.like((await admin.call('GetAgent', { id: 'common' })).message.agent, {
    source: 'tenant',
    status: 'failed',
    description: 'Own',
  });
  const sources = async (agents: typeof admin) => {
    const { message } = await agents.call('ListAgents', { keyword: 'common' });
    return message.agents.map(({ source, status }: Record<string, string>) => `${source} ${status}`);
  };
  t.deepEqual(await sources(reader), ['file active']);
  t.deepEqual(await sources(admin), ['tenant failed', 'file active']);
  t.is((await admin.call('DeleteAgent', { id: 'common' })).code, 'OK');
  t.deepEqual(failureOf(await admin.call('DeleteAgent', { id: 'common' })), [
    'PERMISSION_DENIED',
    'agent.read-only',
  ]);
});

test('the status tells of files with mistakes, and of agents that do not run', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const folder = path.join(gateway.folder, 'agents.d');
  const agents = client('agent');
  const status = async (id: string, asked = agents) =>
    (await asked.call('GetAgent', { id })).message?.agent.status;
  await agents.call('LoadAgentFromYAML', { yaml: agentYaml('loaded') });
  const { token } = await gateway.makeTenant();
  const theirs = client('agent', { token });
  t.is((await theirs.call('CreateAgent', supervisor('leads', 'loaded'))).code, 'OK');
  t.is(await status('leads', theirs), 'active');

  await writeFile(path.join(folder, 'loaded.yaml'), `${agentYaml('loaded')}  wrong: 1\n`);
  await until(async () => (await status('loaded')) === 'outdated');
  const configuration = { type: 'chat_model_agent', system_prompt: 'Mended' };
  t.is((await agents.call('UpdateAgent', { id: 'loaded', configuration })).code, 'OK');
  t.is(await status('loaded'), 'active');

  await writeFile(path.join(folder, 'loaded.yaml'), 'kind: [');
  await until(async () => (await status('loaded')) === 'outdated');
  const unread = await agents.call('UpdateAgent', { id: 'loaded', configuration });
  t.deepEqual(failureOf(unread), ['FAILED_PRECONDITION', 'agent.shared-file']);
  t.regex(unread.details, /cannot be read/);

  await writeFile(path.join(folder, 'never.yaml'), agentYaml('never').replace('chat_model_agent', 'robot'));
  await until(async () => (await status('never')) === 'failed');
  t.is(await status('never', theirs), undefined);

  await writeFile(path.join(folder, 'loaded.yaml'), agentYaml('renamed'));
  await until(async () => (await status('leads', theirs)) === 'failed');
});
