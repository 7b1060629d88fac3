import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { failure, plain } from '../../support/fake-provider.ts';
import { shared } from '../../support/shared.ts';
import { startGrpcRuntime } from './grpc-kit.ts';

const runtime = shared((file) => startGrpcRuntime(file));

test('conversations are made, read and listed by page and keyword, each tenant its own', async (t) => {
  const { gateway, client } = await runtime();
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
  const { gateway, client } = await runtime();
  let deep: object = { end: true };
  for (let level = 0; level < 60; level += 1) deep = { deep };
  const body = `{"bot_id":"payer","title":"half \\ud83d","meta_data":${JSON.stringify(deep)}}`;
  const made = await gateway.request('/api/v2/conversations', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
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
  const [, first] = await receipts();
  t.is(first!.requestId, done.metadata['x-request-id'] ?? '');
  t.true(first!.startedAt! <= first!.createdAt);
});

test('tools that need an approval or ask something are refused', async (t) => {
  const { client } = await runtime();
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
    name: 'second',
    provider: 'openai',
    capabilities: ['tools'],
    context_length: 1_000,
    config: { model: 'gpt', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-plain-text-key' },
  };
  const plainKey = await models.call('CreateModel', model);
  t.is(plainKey.code, 'INVALID_ARGUMENT');
  t.is(plainKey.violations[0]?.field, 'config.api_key');
  const several = {
    ...model.config,
    base_url: 'http://me:pass@127.0.0.1:9/v1',
    api_key: 'sk-plain-text-key',
  };
  const all = await models.call('CreateModel', { ...model, config: several });
  t.deepEqual(
    all.violations.map(({ field }) => field),
    ['config.api_key', 'config.base_url'],
  );
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
