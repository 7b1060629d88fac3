import { getEventListeners } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import Type from 'typebox';
import { access, column, defineEntity, type Logger, reply, route, writes } from '../../../kernel/index.ts';
import {
  type Agents,
  AgentsRef,
  ChatGuardsPoint,
  type Chats,
  ChatsRef,
} from '../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import {
  endlessStream,
  type ProviderScript,
  startFakeProvider,
  stream,
} from '../../support/fake-provider.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { providerEnv } from '../platform/routes/chat-kit.ts';

/** One row for each message that was answered. */
const Answered = defineEntity({
  name: 'BotAnswered',
  tableName: 'bot_answered',
  properties: {
    tenantId: column.tenant().primary(),
    id: column.string(64).primary(),
    text: column.string(2000),
  },
});

const Message = Type.Object({
  id: Type.String(),
  text: Type.String(),
  stream: Type.Optional(Type.Boolean()),
});

/** A gateway with a bot that answers each message once, in the session `bot-1` of the user `anna`. */
async function startBot(
  t: ExecutionContext,
  scripts: readonly ProviderScript[],
  env: Readonly<Record<string, string>> = {},
) {
  const given: { chats?: Chats; agents?: Agents; log?: Logger } = {};
  const bot = testPlugin('bot', {
    needs: { chats: ChatsRef, agents: AgentsRef },
    entities: [{ entity: Answered, impersonal: 'answers of a test' }],
    migrations: [
      {
        name: '001-initial',
        up: (schema, types) => [
          schema
            .createTable('bot_answered')
            .addColumn('tenant_id', types.tenant, (is) => is.notNull())
            .addColumn('id', types.string(64), (is) => is.notNull())
            .addColumn('text', types.string(2000), (is) => is.notNull())
            .addPrimaryKeyConstraint('bot_answered_pkey', ['tenant_id', 'id']),
        ],
      },
    ],
    setup(scope, needed) {
      const { chats, agents } = needed as { chats: Chats; agents: Agents };
      Object.assign(given, { chats, agents, log: scope.log });
      scope.contribute(ChatGuardsPoint, {
        name: 'pests',
        open: () => ({
          input: (texts) => (texts.some(({ text }) => text === 'pest') ? { refuse: 'No.' } : undefined),
        }),
      });
      scope.route(
        route({
          method: 'POST',
          path: '/v1/bot',
          access: access.role('user'),
          summary: 'Answer a message once',
          schema: { body: Message },
          async handle(call) {
            const { id, text, stream: isStream } = call.body;
            const chat = {
              tenantId: call.tenant.id,
              userId: 'anna',
              sessionId: 'bot-1',
              source: 'bot',
              messages: [{ role: 'user', content: text }],
              signal: call.signal,
              also: (answer: { readonly text: string }) => [
                writes.insert(Answered, [{ id, text: answer.text }]),
              ],
            };
            if (isStream !== true) return chats.run(chat);
            const begun = await chats.stream(chat);
            return reply.sse(async (sink) => {
              await using _ = begun;
              for await (const event of begun.events) await sink.data(JSON.stringify(event));
            });
          },
        }),
      );
    },
  });
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startTestGateway({
    env: { ...providerEnv(provider), ...env },
    plugins: [records, agentEngine, platform, bot],
  });
  t.teardown(gateway.stop);
  const post = (body: object, token = gateway.token) =>
    gateway.request('/v1/bot', { method: 'POST', body, token });
  return { gateway, provider, post, chats: given.chats!, agents: given.agents!, log: given.log! };
}

test('a chat of a plugin has personality, memories, history, a session and priced usage under the plugin’s name', async (t) => {
  const { gateway, provider, post } = await startBot(t, [stream(['Hel', 'lo.'])]);
  const { id, token } = await gateway.makeTenant();
  const as = { token, headers: { 'x-svc-user-id': 'anna' } };
  const soul = { method: 'PUT', body: 'You are a pirate.', headers: { 'content-type': 'text/plain' }, token };
  t.is((await gateway.request('/v1/soul', soul)).status, 204);
  await gateway.request('/v1/memories/colour', { method: 'PUT', body: { value: 'likes teal' }, ...as });
  const price = { method: 'PUT', body: { input_per_1k: 1, output_per_1k: 0 } };
  t.is((await gateway.request('/admin/v1/pricing-rules/default', price)).status, 200);

  const first = await post({ id: '1', text: 'Hi' }, token);
  t.is(first.status, 200, JSON.stringify(first.body));
  t.like(first.body, { text: 'Hello.', sessionId: 'bot-1', finish: 'stop', model: 'default' });
  t.deepEqual(first.body.message, { role: 'assistant', content: 'Hello.' });
  t.is(first.body.usage.total_tokens, 12);
  await post({ id: '2', text: 'Again' }, token);
  const { messages } = provider.requests[1]!.body;
  t.regex(messages[0].content, /You are a pirate\./);
  t.regex(messages[0].content, /likes teal/);
  t.deepEqual(
    messages.slice(1).map(({ role, content }: { role: string; content: string }) => [role, content]),
    [
      ['user', 'Hi'],
      ['assistant', 'Hello.'],
      ['user', 'Again'],
    ],
  );
  const usage = await gateway.request('/v1/usage/details?session_id=bot-1', { token });
  t.is(usage.body.total, 2, JSON.stringify(usage.body));
  t.like(usage.body.records[0], { source: 'bot', model: 'default' });
  t.true(usage.body.records[0].cost_usd > 0);
  const entities = gateway.gateway.services.database.forTenant(id);
  t.is(await entities.count(Answered), 2);
});

eachGatewayDatabase(
  test,
  'what a plugin writes with the answer is kept with it or not at all, so a message is answered once',
  async (t, { environment }) => {
    const { gateway, post } = await startBot(t, [stream(['One.']), stream(['Two.'])], environment);
    const { id, token } = await gateway.makeTenant();
    t.is((await post({ id: 'm', text: 'Hi' }, token)).body.text, 'One.');
    const again = await post({ id: 'm', text: 'Hi' }, token);
    t.true(again.status >= 400);
    const entities = gateway.gateway.services.database.forTenant(id);
    t.deepEqual(
      (await entities.rows(Answered, {}, { limit: 9 })).map(({ text }) => text),
      ['One.'],
    );
    const messages = await gateway.request('/v1/usage/details?session_id=bot-1', { token });
    t.is(messages.body.total, 1);
  },
);

test('a chat is streamed, and its end comes with the answer when it is durable', async (t) => {
  const { post, gateway } = await startBot(t, [stream(['Hel', 'lo.'])]);
  const { token } = await gateway.makeTenant();
  const { body } = await post({ id: '1', text: 'Hi', stream: true }, token);
  const events = String(body)
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
  t.deepEqual(
    events.map(({ type, delta }) => delta ?? type),
    ['Hel', 'lo.', 'end'],
  );
  t.like(events.at(-1).answer, { text: 'Hello.', sessionId: 'bot-1', finish: 'stop' });
});

test('a chat whose events nobody reads ends when it is disposed of', async (t) => {
  const { chats, gateway, provider } = await startBot(t, [endlessStream(), stream(['Hi.'])]);
  const { id } = await gateway.makeTenant();
  const { signal } = new AbortController();
  const messages = [{ role: 'user', content: 'Hi' }];
  const chat = { tenantId: id, userId: 'anna', sessionId: 's', source: 'bot', messages, signal };
  const begun = await chats.stream(chat);
  await begun[Symbol.asyncDispose]();
  await until(() => provider.requests[0]!.isAborted);
  t.is((await chats.run(chat)).text, 'Hi.');
});

test('a tenant that is not there, or deleted, a source that is no name, and writes beside a chat that is not kept are refused', async (t) => {
  const { chats, gateway, provider } = await startBot(t, [stream(['Hi.'])]);
  const { id } = await gateway.makeTenant();
  const chat = {
    tenantId: id,
    userId: 'anna',
    source: 'bot',
    signal: new AbortController().signal,
    messages: [{ role: 'user', content: 'Hi' }],
  };
  const unknown = '01900000-0000-7000-8000-00000000ffff';
  await t.throwsAsync(chats.run({ ...chat, tenantId: unknown }), { code: 'tenant.not-found' });
  for (const source of ['Bot', 'a-name-of-more-than-sixteen', '']) {
    await t.throwsAsync(chats.run({ ...chat, source }), { instanceOf: TypeError });
  }
  await t.throwsAsync(chats.run({ ...chat, store: false, also: () => [] }), { instanceOf: TypeError });
  const unkept = await chats.run({ ...chat, store: false });
  t.deepEqual([unkept.text, unkept.sessionId], ['Hi.', undefined]);
  await gateway.request(`/v1/tenants/${id}`, { method: 'DELETE' });
  await t.throwsAsync(chats.run(chat), { code: 'tenant.not-found' });
  t.is(provider.requests.length, 1);
});

test('chats that are over leave nothing with a signal that lives on, as that of a plugin', async (t) => {
  const scripts = Array.from({ length: 4 }, () => stream(['Hi.']));
  const { chats, agents, log, gateway } = await startBot(t, scripts);
  const { id } = await gateway.makeTenant();
  const { signal } = new AbortController();
  const messages = [{ role: 'user', content: 'Hi' }];
  const chat = { tenantId: id, userId: 'anna', source: 'bot', signal, messages };
  await chats.run(chat);
  await chats.run({ ...chat, store: false });
  await t.throwsAsync(chats.run({ ...chat, messages: [{ role: 'user', content: 'pest' }], store: false }), {
    code: 'guard.input-blocked',
  });
  t.is(getEventListeners(signal, 'abort').length, 0, 'after chats');
  const principal = { tenantId: id, identityId: 'anna', userId: 'anna' };
  const context = { principal, requestId: 'one', signal, log };
  for await (const _ of agents.run({ messages, pauses: 'refuse', context }));
  t.is(getEventListeners(signal, 'abort').length, 0, 'after a run');
});
