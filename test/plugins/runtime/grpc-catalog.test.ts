import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { failure, plain } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startGrpcRuntime } from './grpc-kit.ts';

test('conversations are made, read and listed by page and keyword, each tenant its own', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
  const mine = client('conversation', { token: one.token });
  const created: string[] = [];
  for (const title of ['Bills of May', 'Holidays', 'bills of June']) {
    const meta_data = { n: 1, deep: { list: [null, 'x'] } };
    const { code, message } = await mine.call('CreateConversation', { bot_id: 'payer', title, meta_data });
    t.is(code, 'OK');
    t.like(message.conversation, { bot_id: 'payer', title, meta_data });
    created.unshift(message.conversation.id);
  }
  const read = await mine.call('GetConversation', { id: created[2] });
  t.like(read.message.conversation, { id: created[2], title: 'Bills of May' });
  const ids = async (request: object, token = one.token) => {
    const { code, message } = await client('conversation', { token }).call('ListConversations', request);
    t.is(code, 'OK');
    return [message.conversations.map(({ id }: { id: string }) => id), message.total, message.has_more];
  };
  t.deepEqual(await ids({}), [created, 3, false]);
  t.deepEqual(await ids({ page: 1, page_size: 2 }), [created.slice(0, 2), 3, true]);
  t.deepEqual(await ids({ page: 2, page_size: 2 }), [created.slice(2), 3, false]);
  t.deepEqual(await ids({ keyword: 'BILLS', page_size: 1 }), [[created[0]], 2, true]);
  t.deepEqual(await ids({ bot_id: 'boss' }), [[], 0, false]);
  t.deepEqual(await ids({}, two.token), [[], 0, false]);
  const foreign = await client('conversation', { token: two.token }).call('GetConversation', {
    id: created[0],
  });
  t.deepEqual([foreign.code, foreign.metadata['svc-error-code']], ['NOT_FOUND', 'conversation.not-found']);
  const bad = await mine.call('ListConversations', { page: -1 });
  t.deepEqual([bad.code, bad.violations[0]?.field], ['INVALID_ARGUMENT', 'page']);
});

test('what JSON may hold and a message may not does not break a list', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t);
  let deep: object = { end: true };
  for (let level = 0; level < 60; level += 1) deep = { deep };
  const body = `{"bot_id":"payer","title":"half \\ud83d","meta_data":${JSON.stringify(deep)}}`;
  const made = await gateway.request('/api/v2/conversations', {
    ...{ method: 'POST', body, headers: { 'content-type': 'application/json' } },
  });
  t.is(made.status, 201);
  const { code, message } = await client('conversation').call('ListConversations');
  t.is(code, 'OK');
  t.is(message.conversations[0].title, 'half \ufffd');
  t.regex(JSON.stringify(message.conversations[0].meta_data), /end/);
});

test('tools are listed, read and invoked with a receipt', async (t) => {
  const { receipts, client } = await startGrpcRuntime(t);
  const tools = client('tool');
  const { message } = await tools.call('ListTools', { page_size: 100, keyword: 'CALC' });
  t.deepEqual([message.total, message.has_more], [1, false]);
  const [calculator] = message.tools;
  t.like(calculator, { id: 'builtin/calculator', name: 'calculator', enabled: true });
  t.is(calculator.parameters_schema.type, 'object');
  t.deepEqual((await tools.call('GetTool', { id: 'calculator' })).message.tool, calculator);
  t.is((await tools.call('GetTool', { id: 'nothing' })).metadata['svc-error-code'], 'tool.not-found');

  const call = { tool_id: 'builtin/calculator', parameters: { expression: '6*7' } };
  const done = await tools.call('InvokeTool', call);
  t.like(done.message, { success: true, output: '42', error: '' });
  const wrong = await tools.call('InvokeTool', { ...call, parameters: { expression: 7 } });
  t.deepEqual(
    [wrong.code, wrong.metadata['svc-error-code']],
    ['INVALID_ARGUMENT', 'tool.parameters-invalid'],
  );
  t.is(wrong.violations[0]?.field, 'parameters');
  const failed = await tools.call('InvokeTool', { ...call, parameters: { expression: '1/' } });
  t.like(failed.message, { success: false, output: '' });
  t.notRegex(failed.message.error, /^Error/);
  t.not(failed.message.error, '');
  t.deepEqual(
    (await receipts()).map(({ toolName, status, sessionId }) => [toolName, status, sessionId]),
    [
      ['calculator', 'error', ''],
      ['calculator', 'success', ''],
    ],
  );
});

test('tools that need an approval or ask something are refused', async (t) => {
  const { client } = await startGrpcRuntime(t);
  const tools = client('tool');
  const codes = async (request: object) => {
    const { code, metadata } = await tools.call('InvokeTool', request);
    return [code, metadata['svc-error-code']];
  };
  t.deepEqual(await codes({ tool_id: 'current_time' }), ['FAILED_PRECONDITION', 'tool.needs-approval']);
  t.deepEqual(await codes({ tool_id: 'ask_user', parameters: { question: 'Who?' } }), [
    'FAILED_PRECONDITION',
    'tool.asks',
  ]);
  const session = { context: { session_id: 'nowhere' }, parameters: { expression: '1' } };
  t.deepEqual(await codes({ tool_id: 'calculator', ...session }), ['NOT_FOUND', 'session.not-found']);
});

test('models are listed and tested; what they cost is recorded, and a failure is an answer', async (t) => {
  const { gateway, client, usage } = await startGrpcRuntime(t, [
    plain('ok sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD'),
    failure(500),
  ]);
  const models = client('model');
  const listed = await models.call('ListModels');
  t.like(listed.message.models[0], { id: 'default', name: 'default', provider: 'openai', enabled: true });
  t.is(listed.message.models[0].config.model, 'fake');
  const tenant = await gateway.makeTenant();
  const theirs = await client('model', { token: tenant.token }).call('GetModel', { id: 'default' });
  t.is(theirs.code, 'OK');
  t.is(theirs.message.model.config, undefined);
  t.is((await models.call('GetModel', { id: 'nothing' })).metadata['svc-error-code'], 'model_not_found');

  const good = await models.call('TestModel', { model_id: 'default', prompt: 'Say ok' });
  t.like(good.message, { success: true, error: '' });
  t.regex(good.message.response, /^ok \[REDACTED/);
  t.is((await usage())[0]?.requests, 1);
  const bad = await models.call('TestModel', { model_id: 'default' });
  t.is(bad.code, 'OK');
  t.like(bad.message, { success: false, response: '' });
  t.not(bad.message.error, '');
  t.is((await models.call('TestModel', { model_id: 'nothing' })).code, 'NOT_FOUND');
});

test('the operator makes a model, whose key is a reference', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t, [], { SECOND_KEY: 'a-key-of-no-server' });
  const models = client('model');
  const model = {
    ...{ name: 'second', provider: 'openai', capabilities: ['tools'], context_length: 1_000 },
    config: { model: 'gpt', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-plain-text-key' },
  };
  const plainKey = await models.call('CreateModel', model);
  t.is(plainKey.code, 'INVALID_ARGUMENT');
  t.is(plainKey.violations[0]?.field, 'config.api_key');
  const config = { ...model.config, api_key: 'env:SECOND_KEY' };
  const made = await models.call('CreateModel', { ...model, config });
  t.is(made.code, 'OK', made.details);
  t.deepEqual(made.message.model, { ...model, id: 'second', enabled: true, config });
  t.is((await models.call('CreateModel', { ...model, config })).code, 'ALREADY_EXISTS');
  const unnamed = await models.call('CreateModel', { ...model, name: 'a b', config });
  t.deepEqual([unnamed.code, unnamed.violations[0]?.field], ['INVALID_ARGUMENT', 'name']);
  const tenant = await gateway.makeTenant();
  const theirs = await client('model', { token: tenant.token }).call('CreateModel', { ...model, config });
  t.is(theirs.code, 'PERMISSION_DENIED');
  t.false((await readdir(path.join(gateway.folder, 'agents.d'))).some((file) => file.includes('a b')));
});

test('the operator makes, changes and deletes agents of agents.d', async (t) => {
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
  t.like(made.message.agent, { id: 'greeter', name: 'greeter', type: 'chat_model_agent', status: 'active' });
  t.deepEqual(made.message.agent.configuration, { type: 'chat_model_agent', ...configuration });
  t.truthy(made.message.agent.updated_at);
  t.is((await agents.call('CreateAgent', { name: 'greeter' })).code, 'ALREADY_EXISTS');
  const bad = await agents.call('CreateAgent', { name: 'bad', configuration: { tools: [{ ref: 'none' }] } });
  t.deepEqual([bad.code, bad.violations[0]?.field], ['INVALID_ARGUMENT', 'configuration.tools[0].ref']);

  const listed = await agents.call('ListAgents', { page_size: 1, keyword: 'greet' });
  t.deepEqual([listed.message.total, listed.message.has_more], [1, false]);
  const changed = await agents.call('UpdateAgent', { id: 'greeter', description: 'Waves' });
  t.like(changed.message.agent, { description: 'Waves', configuration: made.message.agent.configuration });
  t.is((await agents.call('UpdateAgent', { id: 'payer', description: 'x' })).code, 'FAILED_PRECONDITION');
  t.is((await agents.call('DeleteAgent', { id: 'greeter' })).code, 'OK');
  t.is((await agents.call('GetAgent', { id: 'greeter' })).metadata['svc-error-code'], 'agent.not-found');
  t.is((await agents.call('DeleteAgent', { id: 'greeter' })).code, 'NOT_FOUND');

  const yaml = (text: string) =>
    `# mine\napiVersion: svc/v1\nkind: Agent\nmetadata: { name: loaded }\nspec:\n  type: chat_model_agent\n  system_prompt: ${text}\n`;
  t.is((await agents.call('LoadAgentFromYAML', { yaml: yaml('One') })).code, 'OK');
  const again = await agents.call('LoadAgentFromYAML', { yaml: yaml('Two') });
  t.is(again.message.agent.configuration.system_prompt, 'Two');
  t.regex(await readFile(path.join(folder, 'agent-loaded.yaml'), 'utf8'), /^# mine/);
  const broken = await agents.call('LoadAgentFromYAML', { yaml: `${yaml('x')}  wrong: 1\n` });
  t.is(broken.code, 'INVALID_ARGUMENT');
  t.is(broken.violations[0]?.field, 'yaml');
  t.regex(broken.violations[0]?.description ?? '', /^line 8: /);
  const two = await agents.call('LoadAgentFromYAML', {
    yaml: `${yaml('x')}---\n${yaml('x').replace('loaded', 'other')}`,
  });
  t.regex(two.violations[0]?.description ?? '', /one document of the kind Agent/);

  await writeFile(path.join(folder, 'agent-loaded.yaml'), 'kind: [');
  await until(
    async () => (await agents.call('GetAgent', { id: 'loaded' })).message.agent.status === 'outdated',
  );
  const tenant = await gateway.makeTenant();
  const theirs = client('agent', { token: tenant.token });
  const seen = await theirs.call('GetAgent', { id: 'payer' });
  t.like(seen.message.agent, { id: 'payer', description: 'Pays', type: 'chat_model_agent' });
  t.is(seen.message.agent.configuration, undefined, 'instructions are the operator’s');
  for (const [method, request] of [
    ['CreateAgent', { name: 'x' }],
    ['UpdateAgent', { id: 'payer' }],
    ['DeleteAgent', { id: 'payer' }],
    ['LoadAgentFromYAML', { yaml: yaml('x') }],
  ] as const) {
    const refused = await theirs.call(method, request);
    t.is(refused.code, 'PERMISSION_DENIED', method);
    t.regex(refused.details, /default tenant/);
  }
});
