import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import test from 'ava';
import { createSeal } from '../../../foundation/secrets/seal.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { sealPlace } from '../../../plugins/runtime/services/webhooks/send.ts';
import { WebhookTable } from '../../../plugins/runtime/store/webhooks.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { endlessStream, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';
import { flowPlugin, LOCAL, logsOf, makeWebhook, runEvent, startReceiver, verify } from './webhook-kit.ts';

const PATH = '/api/v2/admin/webhooks';

eachGatewayDatabase(
  test,
  'a webhook is made, read, changed, tested, rotated and deleted',
  async (t, fresh) => {
    const receiver = await startReceiver(t);
    const gateway = await startRuntime(t, { env: { ...LOCAL, ...fresh.environment } });
    t.is(await gateway.gateway.services.database.schemaDrift(), '');
    const url = `${receiver.url}/hook`;
    const made = await gateway.request(PATH, { method: 'POST', body: { url, description: 'a\u0000\ud800' } });
    t.is(made.status, 201);
    const { webhook, secret } = made.body;
    t.like(webhook, { url, events: ['*'], active: true, description: 'a\u0000\ud800' });
    t.regex(webhook.created_at, /^\d{4}-.*\.\d{3}Z$/);
    t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const at = `${PATH}/${webhook.id}`;
    t.deepEqual((await gateway.request(at)).body, { webhook });
    const second = await makeWebhook(gateway, { url, events: ['workflow.*', 'workflow.*', 'agent.created'] });
    const list = (await gateway.request(`${PATH}?limit=1`)).body;
    t.like(list, { total: 2, limit: 1, offset: 0 });
    t.deepEqual([list.webhooks[0].id, list.webhooks[0].events], [second.id, ['workflow.*', 'agent.created']]);

    const changed = await gateway.request(at, {
      method: 'PUT',
      body: { active: false, events: ['agent.run.*'] },
    });
    t.deepEqual(changed.body, { webhook: { ...webhook, active: false, events: ['agent.run.*'] } });
    const tested = await gateway.request(`${at}/test`, { method: 'POST' });
    t.is(tested.status, 200);
    t.like(tested.body, { success: true, log: { event_type: 'webhook.test', status_code: 204, attempt: 1 } });
    const [first] = receiver.received;
    t.like(verify(secret, first!), { type: 'webhook.test', data: { webhook_id: webhook.id } });
    t.is(first!.headers['webhook-id'], tested.body.log.event_id);
    t.deepEqual(await logsOf(gateway, webhook.id), [tested.body.log]);

    const rotated = (await gateway.request(`${at}/rotate-secret`, { method: 'POST' })).body;
    t.not(rotated.secret, secret);
    await gateway.request(`${at}/test`, { method: 'POST' });
    for (const either of [secret, rotated.secret]) t.notThrows(() => verify(either, receiver.received[1]!));

    t.is((await gateway.request(at, { method: 'DELETE' })).status, 204);
    for (const method of ['GET', 'DELETE']) t.is((await gateway.request(at, { method })).status, 404);
    t.is((await gateway.request(`${at}/logs`)).status, 404);
  },
);

eachGatewayDatabase(test, 'two rotations at one moment both give a secret that signs', async (t, fresh) => {
  const receiver = await startReceiver(t);
  const gateway = await startRuntime(t, { env: { ...LOCAL, ...fresh.environment } });
  const { id } = await makeWebhook(gateway, { url: receiver.url });
  for (let round = 0; round < 4; round += 1) {
    const rotate = () => gateway.request(`${PATH}/${id}/rotate-secret`, { method: 'POST' });
    const [one, other] = await Promise.all([rotate(), rotate()]);
    t.deepEqual([one.status, other.status], [200, 200]);
    await gateway.request(`${PATH}/${id}/test`, { method: 'POST' });
    for (const { secret } of [one.body, other.body]) {
      t.notThrows(() => verify(secret, receiver.received[round]!));
    }
  }
});

eachGatewayDatabase(test, 'a repeated rotation leaves receivers’ secrets valid', async (t, fresh) => {
  const receiver = await startReceiver(t);
  const env = { ...LOCAL, ...fresh.environment, SVC_SECRET_KEY: 'a'.repeat(32) };
  const gateway = await startRuntime(t, { env });
  const { id, secret: first } = await makeWebhook(gateway, { url: receiver.url });
  const rotate = async () =>
    (await gateway.request(`${PATH}/${id}/rotate-secret`, { method: 'POST' })).body.secret;
  // The answers of the first ones were lost on their way.
  const secrets = [first, await rotate(), await rotate(), await rotate()];
  await gateway.request(`${PATH}/${id}/test`, { method: 'POST' });
  for (const secret of secrets) t.notThrows(() => verify(secret, receiver.received[0]!));
});

eachGatewayDatabase(test, 'a rotation replaces a secret whose key was lost', async (t, fresh) => {
  const receiver = await startReceiver(t);
  const start = (key: string) =>
    startRuntime(t, { env: { ...LOCAL, ...fresh.environment, SVC_SECRET_KEY: key.repeat(32) } });
  const before = await start('a');
  const { id } = await makeWebhook(before, { url: receiver.url });
  await before.stop();
  const gateway = await start('b');
  const tested = async () => (await gateway.request(`${PATH}/${id}/test`, { method: 'POST' })).body;
  t.regex((await tested()).log.error, /SVC_SECRET_KEY/);
  await until(() => gateway.logs().some((line) => line.includes('cannot be read with this SVC_SECRET_KEY')));
  const { secret } = (await gateway.request(`${PATH}/${id}/rotate-secret`, { method: 'POST' })).body;
  t.like(await tested(), { success: true });
  t.notThrows(() => verify(secret, receiver.received[0]!));
});

eachGatewayDatabase(test, 'secrets outlive an exchange of the key that encrypts them', async (t, fresh) => {
  const receiver = await startReceiver(t);
  const start = (key: string, more = {}) =>
    startRuntime(t, { env: { ...LOCAL, ...fresh.environment, SVC_SECRET_KEY: key.repeat(32), ...more } });
  const before = await start('a');
  const { id, secret: first } = await makeWebhook(before, { url: receiver.url });
  const { secret } = (await before.request(`${PATH}/${id}/rotate-secret`, { method: 'POST' })).body;
  await before.stop();
  const between = await start('b', { SVC_SECRET_KEY_PREVIOUS: 'a'.repeat(32) });
  t.like((await between.request(`${PATH}/${id}/test`, { method: 'POST' })).body, { success: true });
  const [seal, { database }] = [createSeal('b'.repeat(32)), between.gateway.services];
  await until(async () => {
    const stored = await database.system().findOneOrFail(WebhookTable, { id });
    const place = sealPlace(stored.tenantId, id);
    return [stored.secret, stored.previousSecret!].every((each) => seal.opens(each, place));
  });
  await between.stop();
  const after = await start('b');
  t.like((await after.request(`${PATH}/${id}/test`, { method: 'POST' })).body, { success: true });
  for (const either of [first, secret]) t.notThrows(() => verify(either, receiver.received[1]!));
});

test('bad input is refused with the names of its fields', async (t) => {
  const gateway = await startRuntime(t);
  const refused = async (body: object) => {
    const answer = await gateway.request(PATH, { method: 'POST', body });
    t.is(answer.status, 400);
    // biome-ignore lint/suspicious/noExplicitAny: a problem
    return answer.body.errors.map(({ pointer, message }: any) => `${pointer} ${message}`);
  };
  const [loopback, event] = await refused({ url: 'http://127.0.0.1/x', events: ['agent.run.complete'] }).then(
    (errors) => errors.toReversed(),
  );
  t.regex(event, /^\/body\/events\/0 "agent.run.complete" is no event type, agent.run.completed is;/);
  t.regex(loopback, /^\/body\/url 127.0.0.1 does not lead to a public address/);
  for (const url of [
    'ftp://example.com',
    'http://',
    'http://user:pw@example.com/',
    'http://localhost/x',
    7,
  ]) {
    t.regex((await refused({ url })).join(), /^\/body\/url /, String(url));
  }
  t.regex((await refused({})).join(), /url/);
  const pointersOf = (lines: readonly string[]) => lines.map((line) => line.split(' ')[0]).toSorted();
  const bad = { url: 'nowhere', events: ['workflow.*', 'agent.born', 7, 'x'.repeat(65)], active: 'yes' };
  const all = ['/body/active', '/body/events/1', '/body/events/2', '/body/events/3', '/body/url'];
  t.deepEqual(pointersOf(await refused(bad)), all);
  // An address that needs no DNS.
  const { id } = await makeWebhook(gateway, { url: 'https://8.8.8.8/' });
  const change = await gateway.request(`${PATH}/${id}`, { method: 'PUT', body: bad });
  t.deepEqual(change.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted(), all);
  const many = await refused({ url: 'https://example.com', events: Array(51).fill('agent.born') });
  t.deepEqual(pointersOf(many), ['/body/events'], 'no more patterns are looked at than a webhook may have');
  const ofEvents = await refused({ url: 'https://example.com', events: [] });
  t.regex(ofEvents.join(), /\/body\/events/);
  const unresolved = { url: 'https://hooks.example.invalid/x' };
  t.is((await gateway.request(PATH, { method: 'POST', body: unresolved })).status, 201);
  for (const id of ['x', '%00', '0197b2c4-0000-7000-8000-000000000001']) {
    t.is((await gateway.request(`${PATH}/${id}`)).status, 404);
  }
});

test('only administrators see webhooks, each those of his own tenant', async (t) => {
  const gateway = await startRuntime(t, { env: LOCAL });
  const receiver = await startReceiver(t);
  const [one, other] = [await gateway.makeTenant('one'), await gateway.makeTenant('other')];
  const { id } = await makeWebhook(gateway, { url: receiver.url }, one.token);
  for (const [method, path, body] of [
    ['GET', `${PATH}/${id}`],
    ['PUT', `${PATH}/${id}`, { active: false }],
    ['DELETE', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/test`],
    ['POST', `${PATH}/${id}/rotate-secret`],
    ['GET', `${PATH}/${id}/logs`],
  ] as const) {
    for (const token of [other.token, gateway.token]) {
      t.is((await gateway.request(path, { method, body, token })).status, 404, `${method} ${path}`);
    }
    t.is((await gateway.request(path, { method, body, token: null })).status, 401);
  }
  t.is((await gateway.request(PATH, { token: other.token })).body.total, 0);
  const { key } = await gateway.gateway.services.apiKeys.create({
    tenantId: one.id,
    name: 'user',
    scopes: [],
    expiresAt: null,
    createdBy: null,
    roles: ['user'],
  });
  t.is((await gateway.request(PATH, { token: key })).status, 403);
  t.is(receiver.received.length, 0);
});

eachGatewayDatabase(
  test,
  'a tenant has twenty webhooks at most, also of simultaneous ones',
  async (t, fresh) => {
    const gateway = await startRuntime(t, { env: { ...LOCAL, ...fresh.environment } });
    const body = { url: 'http://127.0.0.1:8080/' };
    for (let n = 0; n < 18; n += 1) await makeWebhook(gateway, body);
    const last = Array.from({ length: 8 }, () => gateway.request(PATH, { method: 'POST', body }));
    const statuses = (await Promise.all(last)).map(({ status }) => status).sort();
    t.deepEqual(statuses, [201, 201, ...Array(6).fill(409)]);
    const answer = await gateway.request(PATH, { method: 'POST', body });
    t.deepEqual([answer.status, answer.body.code], [409, 'webhook.too-many']);
  },
);

test('secrets are in no output: answers, logs, audit records, jobs, and with a key the database', async (t) => {
  const receiver = await startReceiver(t, (n) => (n === 1 ? 500 : 204));
  const flow = flowPlugin();
  const env = { ...LOCAL, SVC_SECRET_KEY: 'a key of thirty-two characters..', LOG_LEVEL: 'debug' };
  const gateway = await startRuntime(t, { env, plugins: [flow.plugin] });
  const { id, secret } = await makeWebhook(gateway, { url: receiver.url });
  await flow.deliver(runEvent(DEFAULT_TENANT_ID, 1));
  await until(() => receiver.received.length === 2);
  t.notThrows(() => verify(secret, receiver.received[1]!));
  const { services } = gateway.gateway;
  const rows = await services.database.system().execute('select * from runtime_webhooks');
  const outputs = [
    ...(await Promise.all(
      [PATH, `${PATH}/${id}`, `${PATH}/${id}/logs`, '/admin/v1/jobs'].map((path) => gateway.request(path)),
    )),
    await services.audit.ofAll({}, { limit: 100, offset: 0 }),
    rows,
    gateway.logs(),
  ];
  t.is(rows.length, 1);
  const bare = secret.slice('whsec_'.length, -1);
  for (const output of outputs) t.false(JSON.stringify(output).includes(bare));
});

const AGENT = `apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: Helps }
spec: { type: chat_model_agent, system_prompt: You help. }
`;

test('webhooks hear of a chat that its client has left, whether the model or the client was waited for', async (t) => {
  const receiver = await startReceiver(t);
  await using provider = await startFakeProvider(stream(['Hello', 'you'], { hangAfter: 2 }), endlessStream());
  const gateway = await startRuntime(t, {
    env: { ...LOCAL, LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0' },
  });
  await writeFile(path.join(gateway.folder, 'agents.d', 'helper.yaml'), AGENT);
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 1);
  await makeWebhook(gateway, { url: receiver.url });
  /** Begins a chat, and leaves it when it is so. */
  const leftWhen = async (session_id: string, reads: boolean, isSo: (text: string) => boolean) => {
    let text = '';
    const asked = request(`${gateway.url}/api/v2/chat/stream`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    });
    asked.on('error', () => {});
    asked.on('response', (response) => {
      if (reads) response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    });
    asked.end(JSON.stringify({ agent_id: 'helper', message: 'Hi', session_id }));
    await until(() => isSo(text));
    asked.destroy();
  };
  await leftWhen('of-the-model', true, (text) => text.includes('Hello'));
  await leftWhen('of-the-client', false, () => provider.requests[1]?.isBlocked === true);
  await until(() => receiver.received.length === 2);
  const heard = receiver.received.map(({ body: { type, data } }) => [type, data.session_id, data.error_code]);
  t.deepEqual(heard.sort(), [
    ['agent.run.failed', 'of-the-client', 'request.client-closed'],
    ['agent.run.failed', 'of-the-model', 'request.client-closed'],
  ]);
});
