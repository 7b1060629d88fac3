import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { SignJWT } from 'jose';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { type ProviderScript, sse, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { startGatewayProcess, startInFolder, temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { eventsOf, startRuntime, toolCalls } from './runtime-gateway.ts';

const agent = (prompt: string) => `apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: ${JSON.stringify(prompt)} }
spec:
  type: chat_model_agent
  system_prompt: ${JSON.stringify(prompt)}
  tools: [{ ref: builtin/calculator, requires_approval: true }]
`;

test('kill -9 between a pause and its decision loses nothing', async (t) => {
  await using provider = await startFakeProvider(
    toolCalls(['calculator', { expression: '6*7' }]),
    stream(['It is 42.']),
  );
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), agent('Be exact.'));
  const env = { SVC_PLUGINS: 'records,agent-engine,runtime', LLM_API_URL: provider.url, LLM_MODEL: 'fake' };
  const before = await startGatewayProcess(t, folder, env);
  const post = (gateway: Pick<TestGateway, 'request'>, route: string, body: object) =>
    gateway.request(`/api/v2/chat/${route}?a2ui=true`, {
      method: 'POST',
      body: { agent_id: 'helper', ...body },
    });
  const begun = await post(before, 'stream', { session_id: 's1', message: '6*7?' });
  t.is(eventsOf(String(begun.body))[0]?.event, 'interrupt');
  await before.stop('SIGKILL');

  await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), agent('Be funny.'));
  const after = await startInFolder(t, folder, env);
  const decided = { session_id: 's1', input: { decision: 'approve' } };
  const events = eventsOf(String((await post(after, 'resume', decided)).body));
  t.deepEqual(
    events.map(({ event }) => event),
    ['tool_call', 'tool_result', 'text', 'done'],
  );
  t.regex(provider.requests.at(-1)?.body.messages[0].content, /Be exact/, 'the run keeps its agent');
  t.is((await post(after, 'resume', decided)).status, 409);
});

test('an agent that changes while its streams run breaks none of them, and counts for the next chat', async (t) => {
  const STREAMS = 50;
  let isOpen = false;
  const slow: ProviderScript = async ({ response, write, signal }) => {
    const chunk = (content: string) =>
      sse({ choices: [{ index: 0, delta: { role: 'assistant', content } }] });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write(chunk('The beginning, and '));
    await until(() => isOpen || signal.aborted, 60_000);
    await write(chunk('the end.'));
    await write(sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.end('data: [DONE]\n\n');
  };
  await using provider = await startFakeProvider(slow);
  const gateway = await startRuntime(t, { env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake' } });
  await gateway.gateway.services.tenants.update(DEFAULT_TENANT_ID, { maxSessions: 2 * STREAMS });
  const described = (text: string) =>
    until(async () => (await gateway.request('/api/v2/agents')).body.agents[0]?.description === text);
  const save = (prompt: string) =>
    writeFile(path.join(gateway.folder, 'agents.d', 'helper.yaml'), agent(prompt));
  const chat = () =>
    gateway.request('/api/v2/chat/stream', { method: 'POST', body: { agent_id: 'helper', message: 'hi' } });
  await save('Be old.');
  await described('Be old.');
  const running = Array.from({ length: STREAMS }, chat);
  await until(() => provider.requests.length === STREAMS);
  await save('Be new.');
  await described('Be new.');
  isOpen = true;
  for (const { status, body } of await Promise.all(running)) {
    t.is(status, 200);
    t.regex(body, /^data: The beginning[\s\S]*the end\.\n\ndata: \[DONE\]\n\n$/);
  }
  const prompts = () => provider.requests.map(({ body }) => body.messages[0].content as string);
  t.true(prompts().every((text) => text.includes('Be old.')));
  await chat();
  t.true(prompts().at(-1)?.includes('Be new.'));
});

test('a person of any name chats without a client', async (t) => {
  const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const env = { SVC_JWT_PUBLIC_KEY: issuer.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  const gateway = await startRuntime(t, { env });
  await writeFile(path.join(gateway.folder, 'agents.d', 'helper.yaml'), agent('Be exact.'));
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 1);
  for (const name of ['Anna\u00a0Weber', '\u{1f469}\u200d\u{1f4bb}', 'ana']) {
    const token = await new SignJWT({ tenant_id: DEFAULT_TENANT_ID, roles: ['user'] })
      .setProtectedHeader({ alg: 'RS256' })
      .setSubject(name)
      .setExpirationTime('1h')
      .sign(issuer.privateKey);
    const post = (route: string, body: object) => gateway.request(route, { method: 'POST', token, body });
    const style = { agent_id: 'helper', message: 'hi', background: true };
    t.is((await post('/api/v2/chat/stream', style)).status, 200, name);
    const chat = { bot_id: 'helper', additional_messages: [{ role: 'user', content: 'hi' }] };
    t.is((await post('/v3/chat', chat)).body.code, 0, name);
  }
});
