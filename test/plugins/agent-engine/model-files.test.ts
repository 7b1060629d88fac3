import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../testing/start-test-gateway.ts';
import { anthropic } from '../../support/fake-anthropic.ts';
import { failure, startFakeProvider } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';

const DEADLINE = 20_000;

test('a model that is saved into agents.d is listed and answers, with its key from a file, and goes with it', async (t) => {
  await using provider = await startFakeProvider();
  const folder = await mkdtemp(path.join(tmpdir(), 'model-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const key = path.join(folder, 'key');
  await writeFile(key, 'sk-from-a-file-0123456789\n');
  await using gateway = await startTestGateway({
    plugins: [records, agentEngine, platform],
    env: { SVC_AGENTS_DIR: folder },
  });
  const aliases = async () => {
    const { body } = await gateway.request('/v1/models');
    return (body.data as { id: string }[]).map(({ id }) => id);
  };
  const spec = `{provider: openai, model: acme-large, base_url: '${provider.url}', api_key: 'file:${key}'}`;
  const file = path.join(folder, 'acme.yaml');
  await writeFile(`${file}.tmp`, `apiVersion: svc/v1\nkind: Model\nmetadata: {name: acme}\nspec: ${spec}\n`);
  await rename(`${file}.tmp`, file);
  await until(async () => (await aliases()).includes('acme'), DEADLINE);
  const body = { model: 'acme', messages: [{ role: 'user', content: 'Hi' }] };
  t.is((await gateway.request('/v1/chat/completions', { method: 'POST', body })).status, 200);
  t.is(provider.requests[0]?.body.model, 'acme-large');
  t.is(provider.requests[0]?.headers.authorization, 'Bearer sk-from-a-file-0123456789');

  await gateway.gateway.services.resources.write(
    'other.yaml',
    `apiVersion: svc/v1\nkind: Model\nmetadata: {name: other}\nspec: {provider: demo, model: demo}\n`,
  );
  t.true((await aliases()).includes('other'));
  await rm(file);
  await until(async () => !(await aliases()).includes('acme'), DEADLINE);
  t.true((await aliases()).includes('other'));

  // A new generation of the plugin has models of its own.
  const reload = await gateway.request('/admin/v1/plugins/agent-engine/reload', { method: 'POST' });
  t.is(reload.status, 200);
  const again = { ...body, model: 'other' };
  t.is((await gateway.request('/v1/chat/completions', { method: 'POST', body: again })).status, 200);
  t.deepEqual((await gateway.gateway.services.resources.reload()).failed, []);
});

test('a model of Anthropic answers on the OpenAI-compatible route, whole and streamed', async (t) => {
  await using provider = await startFakeProvider(anthropic());
  const folder = await mkdtemp(path.join(tmpdir(), 'model-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const key = path.join(folder, 'key');
  await writeFile(key, 'sk-ant-0123456789\n');
  const spec = `{provider: anthropic, model: claude-sonnet-4-5, base_url: '${provider.url}', api_key: 'file:${key}'}`;
  const document = `apiVersion: svc/v1\nkind: Model\nmetadata: {name: claude}\nspec: ${spec}\n`;
  await writeFile(path.join(folder, 'claude.yaml'), document);
  await using gateway = await startTestGateway({
    plugins: [records, agentEngine, platform],
    env: { SVC_AGENTS_DIR: folder },
  });
  const ask = (stream: boolean) =>
    gateway.request('/v1/chat/completions', {
      method: 'POST',
      body: { model: 'claude', messages: [{ role: 'user', content: 'Hi' }], stream },
    });
  // The provider's library is loaded by the first build, which a busy machine may have to try again.
  await until(async () => (await ask(false)).status === 200);
  const { body } = await ask(false);
  t.is(body.choices[0].message.content, 'Hello from Claude.');
  t.is((await ask(true)).status, 200);
  t.is(provider.requests.at(-1)?.body.stream, true);
  t.is(provider.requests[0]?.headers['x-api-key'], 'sk-ant-0123456789');
});

test('the log of a call that failed names the model, also below an agent and in a stream, and the answer does not', async (t) => {
  await using provider = await startFakeProvider(failure(401));
  const folder = await mkdtemp(path.join(tmpdir(), 'model-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const documents = [
    `kind: Model\nmetadata: {name: acme}\nspec: {provider: openai, model: acme-large, base_url: '${provider.url}'}`,
    `kind: Agent\nmetadata: {name: helper}\nspec: {type: chat_model_agent, model: {primary: acme}, system_prompt: Help.}`,
  ].map((document) => `apiVersion: svc/v1\n${document}\n`);
  await writeFile(path.join(folder, 'acme.yaml'), documents.join('---\n'));
  await using gateway = await startTestGateway({
    plugins: [records, agentEngine, platform],
    env: { SVC_AGENTS_DIR: folder },
  });
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const [route, body] of [
    ['/v1/chat/completions', { model: 'acme', messages }],
    ['/v1/chat/completions', { model: 'acme', messages, stream: true }],
    ['/v1/agent/chat', { agent: 'helper', messages }],
  ] as const) {
    const answer = await gateway.request(route, { method: 'POST', body });
    t.is(answer.status, 502);
    t.notRegex(JSON.stringify(answer.body), /acme/);
    const requestId = answer.headers.get('x-request-id')!;
    const told = gateway
      .logs()
      .filter((line) => line.includes('"level":"error"') && line.includes(requestId));
    t.is(told.length, 1);
    t.regex(told[0]!, /the model \\"acme\\" \(acme-large of openai\)/);
    t.regex(told[0]!, /The provider answered 401/);
  }
});
