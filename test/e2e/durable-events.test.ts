import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  ApiKeyCreated,
  ApiKeyRevoked,
  ApiKeyRotated,
  type DurableEventRef,
  definePlugin,
  type RetainedRecords,
  RetentionPoint,
  type SubscribeOptions,
  TenantCreated,
  TenantDeleted,
  TenantPurged,
  TenantRestored,
  TenantUpdated,
} from '../../kernel/index.ts';
import { TurnFailed } from '../../plugins/agent-engine/contract.ts';
import { SessionCreated, SessionsDeleted, TurnFinished } from '../../plugins/records/contract.ts';
import { RunEnded, RunFailed, RunStarted } from '../../plugins/workflow/contract.ts';
import type { TestGateway } from '../../testing/index.ts';
import { callsAs, startProtected } from '../plugins/platform/data-protection-kit.ts';
import { providerEnv } from '../plugins/platform/routes/chat-kit.ts';
import { PROTOS, SERVICES } from '../plugins/runtime/grpc-kit.ts';
import { eachGatewayDatabase, type FreshDatabase } from '../support/databases.ts';
import { failure, silence, startFakeProvider } from '../support/fake-provider.ts';
import {
  FEW_PLUGINS,
  type GatewayProcess,
  startGatewayProcess,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { pluginFolder } from '../support/plugin-folder.ts';
import { recordStatements } from '../support/statements.ts';
import { until } from '../support/until.ts';
import { chain, publish } from '../support/workflow-story.ts';

const EVENTS: readonly DurableEventRef<unknown>[] = [
  TenantCreated,
  TenantUpdated,
  TenantDeleted,
  TenantRestored,
  TenantPurged,
  ApiKeyCreated,
  ApiKeyRotated,
  ApiKeyRevoked,
  SessionCreated,
  SessionsDeleted,
  TurnFinished,
  TurnFailed,
  RunStarted,
  RunEnded,
  RunFailed,
];

interface Heard {
  readonly event: string;
  readonly tenantId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly data: any;
}

/** A plugin that subscribes to everything. */
function listener(heard: Heard[], options: SubscribeOptions = {}) {
  let kinds: () => readonly RetainedRecords[] = () => [];
  const plugin = definePlugin({
    name: 'listener',
    summary: 'Hears everything',
    kernel: '^1.0.0',
    points: [RetentionPoint],
    setup(scope) {
      kinds = scope.contributions(RetentionPoint);
      for (const event of EVENTS)
        scope.subscribe(
          event,
          async (data, { tenantId, entities }) => {
            if (entities().tenantId !== tenantId) throw new Error('bound to another tenant');
            heard.push({ event: event.id, tenantId, data });
          },
          options,
        );
    },
  });
  return { plugin, kind: (name: string) => kinds().find((one) => one.name === name) };
}

const patience = (condition: () => boolean | Promise<boolean>) => until(condition, 60_000);

async function startHeard(
  t: ExecutionContext,
  fresh: FreshDatabase,
  env: Readonly<Record<string, string>> = {},
) {
  const heard: Heard[] = [];
  const { plugin, kind } = listener(heard);
  const gateway = await startProtected(t, { env: { ...fresh.environment, ...env }, plugins: [plugin] });
  return {
    gateway,
    kind,
    /** Waits for so many events of one kind and tenant, and gives all of them. */
    async of({ id }: DurableEventRef<unknown>, tenantId: string, count = 1): Promise<Heard['data'][]> {
      const found = () => heard.filter((one) => one.event === id && one.tenantId === tenantId);
      await patience(() => found().length >= count).catch(() => {});
      return found().map(({ data }) => data);
    },
  };
}

const asOperator = (gateway: TestGateway) => callsAs(gateway, gateway.token);

eachGatewayDatabase(test, 'what happens to tenants and keys is told', async (t, fresh) => {
  const { gateway, of } = await startHeard(t, fresh);
  const call = asOperator(gateway);
  const { id } = await call('POST', '/v1/tenants', { name: 'Acme' });
  await call('PUT', `/v1/tenants/${id}`, { name: 'Acme Inc.', rate_limit_rpm: 500 });
  t.deepEqual(await of(TenantCreated, id), [{ plan: 'free' }]);
  const [{ changed }] = await of(TenantUpdated, id);
  t.deepEqual(changed.toSorted(), ['name', 'rate_limit_rpm']);

  const keys = `/admin/v1/tenants/${id}/api-keys`;
  const first = await call('POST', keys, { name: 'First of Ada', roles: ['user'], scopes: [] });
  const { new_key: second } = await call('POST', `${keys}/${first.id}/rotate`, {});
  await call('DELETE', `${keys}/${second.id}`);
  await call('DELETE', `${keys}/${second.id}`);
  t.deepEqual(await of(ApiKeyCreated, id), [{ key_id: first.id, roles: ['user'], expires_at: null }]);
  t.deepEqual(await of(ApiKeyRotated, id), [{ key_id: first.id, new_key_id: second.id }]);
  t.deepEqual(await of(ApiKeyRevoked, id), [{ key_id: second.id }]);

  const { key: token } = await call('POST', keys, {
    name: 'a',
    roles: ['owner', 'admin', 'user'],
    scopes: [],
  });
  const user = { name: 'Ada', email: 'ada@example.com', role: 'viewer' };
  const made = await callsAs(gateway, token)('POST', '/api/v2/admin/users', user);
  t.is((await of(ApiKeyCreated, id, 3)).length, 3, 'a user of the runtime has a key');
  await callsAs(gateway, token)('DELETE', `/api/v2/admin/users/${(made.user ?? made).id}`);
  t.is((await of(ApiKeyRevoked, id, 2)).length, 2);

  await call('DELETE', `/v1/tenants/${id}`);
  await call('DELETE', `/v1/tenants/${id}`);
  await call('POST', `/v1/tenants/${id}/restore`, {});
  t.deepEqual(await of(TenantRestored, id), [{}]);
  const deleted = await of(TenantDeleted, id);
  t.is(deleted.length, 1, 'the second time it was deleted already');
  t.true(Date.parse(deleted[0].purge_after) > Date.now());
  t.is((await of(ApiKeyRevoked, id)).length, 2, 'keys of a deleted tenant are not revoked');
});

eachGatewayDatabase(test, 'a purge is told after the tenant is gone, and survives it', async (t, fresh) => {
  const { gateway, of } = await startHeard(t, fresh, {
    SVC_TENANT_RETENTION: '1ms',
    SVC_PURGE_INTERVAL: '100ms',
  });
  const { id } = await gateway.makeTenant();
  await asOperator(gateway)('DELETE', `/v1/tenants/${id}`);
  t.deepEqual(await of(TenantPurged, id), [{}]);
  t.is((await of(TenantDeleted, id)).length, 1);
});

eachGatewayDatabase(test, 'every way to a turn tells of it, and of its session', async (t, fresh) => {
  const { gateway, of, kind } = await startHeard(t, fresh);
  const { id, token } = await gateway.makeTenant();
  const call = callsAs(gateway, token, 'ada');
  const messages = [{ role: 'user', content: 'My secret wish' }];
  const ask = { model: 'demo', messages };

  const named = await gateway.request('/v1/chat/completions', {
    method: 'POST',
    token,
    body: ask,
    headers: { 'x-request-id': 'request-4711' },
  });
  const session = named.headers.get('x-svc-session-id');
  const [turn] = await of(TurnFinished, id);
  t.like(turn, {
    session_id: session,
    agent: null,
    model: 'demo',
    source: 'chat',
    status: 'completed',
    usage: { model_calls: 1, cost_usd: '0' },
  });
  t.is(turn.usage.input_tokens, named.body.usage.prompt_tokens);
  t.is(turn.usage.output_tokens, named.body.usage.completion_tokens);
  t.is((await call('GET', `/v1/sessions/${session}`)).id, session, 'it is there');
  t.deepEqual(await of(SessionCreated, id), [{ session_id: session }]);

  await call(
    'POST',
    '/v1/chat/completions',
    { ...ask, stream: true },
    { 'x-svc-session-id': String(session) },
  );
  await call('POST', '/v1/chat/completions', { ...ask, store: false });
  await call('POST', '/v1/agent/chat', ask);
  const agent =
    'apiVersion: svc/v1\nkind: Agent\nmetadata: { name: careful }\nspec: { type: chat_model_agent, model: { primary: demo }, tools: [{ ref: builtin/calculator, requires_approval: true }] }\n';
  await writeFile(path.join(gateway.folder, 'agents.d', 'careful.yaml'), agent);
  await until(async () => (await call('GET', '/api/v2/agents')).agents.length > 0);
  const calculate = 'use the calculator: what is 17 * 23?';
  await call('POST', '/api/v2/chat/stream', { agent_id: 'careful', message: calculate });
  const said = { additional_messages: [{ role: 'user', content: 'Hello' }] };
  await call('POST', '/v3/chat', { bot_id: 'careful', ...said });
  const grpc = gateway.grpc({
    proto: new URL('svc/conversation/v1/conversation.proto', PROTOS),
    token,
    service: SERVICES.conversation,
  });
  t.is((await grpc.call('Chat', { message: 'Hello', extra: { agent_name: 'careful' } })).code, 'OK');
  const turns = await of(TurnFinished, id, 7);
  const forms = turns.map(({ session_id, source, agent: of, status }) =>
    [source, of ?? '-', status, session_id === null ? 'unstored' : 'stored'].join(' '),
  );
  t.deepEqual(forms.toSorted(), [
    'agent - completed stored',
    'chat - completed stored',
    'chat - completed stored',
    'chat - completed unstored',
    'runtime careful completed stored',
    'runtime careful completed stored',
    'runtime careful interrupted stored',
  ]);
  const created = (await of(SessionCreated, id, 5)).map(({ session_id }) => session_id);
  t.is(new Set(created).size, 5);
  t.false(/secret|ada|17/.test(JSON.stringify([turns, created]).replaceAll(/[0-9a-f-]{36}/g, '')));

  const { id: old } = (await call('GET', '/v1/sessions')).sessions.at(-1);
  await call('DELETE', `/v1/sessions/${old}`);
  t.deepEqual(await of(SessionsDeleted, id), [{ session_ids: [old], reason: 'requested' }]);
  await call('POST', '/v1/agent/chat', ask);
  const next = (await of(SessionCreated, id, 6)).at(-1).session_id;
  for (const one of created) if (one !== old) await call('DELETE', `/v1/sessions/${one}`);
  for await (const _ of kind('sessions')!.deleteBefore(
    id,
    new Date(Date.now() + 60_000),
    new AbortController().signal,
  ));
  const byTime = (await of(SessionsDeleted, id, 6)).filter(({ reason }) => reason === 'retention');
  t.deepEqual(byTime, [{ session_ids: [next], reason: 'retention' }]);
  await call('POST', '/v1/agent/chat', ask);
  await call('POST', '/v1/agent/chat', ask);
  await call('DELETE', '/v1/gdpr/data?user_id=ada');
  const [erased] = (await of(SessionsDeleted, id, 7)).filter(({ reason }) => reason === 'erasure');
  t.is(erased?.session_ids.length, 2, 'one event of both');
});

eachGatewayDatabase(test, 'a turn that fails, or is left by its client, is told', async (t, fresh) => {
  const provider = await startFakeProvider(failure(500), failure(500), failure(500), silence());
  t.teardown(() => provider[Symbol.asyncDispose]());
  const { gateway, of } = await startHeard(t, fresh, { OBJECT_STORE_URL: 'none', ...providerEnv(provider) });
  const { id, token } = await gateway.makeTenant();
  const body = { model: 'default', messages: [{ role: 'user', content: 'Hi' }] };
  const chat = { method: 'POST', token, body };
  const streamed = { ...chat, body: { ...body, stream: true } };
  t.is((await gateway.request('/v1/chat/completions', chat)).status, 502);
  t.is((await gateway.request('/v1/chat/completions', streamed)).status, 502);
  t.is((await gateway.request('/v1/agent/chat', streamed)).status, 502);
  for (const failed of await of(TurnFailed, id, 3))
    t.like(failed, { agent: null, model: 'default', reason: 'failed', error: 'model.upstream' });
  const gone = new AbortController();
  const left = gateway.request('/v1/chat/completions', { ...chat, signal: gone.signal });
  await until(() => provider.requests.length === 4);
  gone.abort();
  await t.throwsAsync(left);
  const [, , , aborted] = await of(TurnFailed, id, 4);
  t.like(aborted, { reason: 'aborted' });
  t.deepEqual(await of(TurnFinished, id, 0), []);
});

eachGatewayDatabase(
  test,
  'runs of workflows tell of their begin, their end and their failure',
  async (t, fresh) => {
    const { gateway, of } = await startHeard(t, fresh, { WORKFLOW_SWEEP_INTERVAL: '200ms' });
    const { id, token } = await gateway.makeTenant();
    const client = (where: string, request: object = {}) => gateway.request(where, { token, ...request });
    const start = async (graph: Parameters<typeof publish>[1], name: string) => {
      const definition_id = await publish(client as never, graph, name);
      const { body } = await client('/v1/workflow-runs', {
        method: 'POST',
        body: { definition_id, input: {} },
      });
      return { run_id: body.id, definition_id, version: 1 };
    };
    const agent = await start(
      chain({ id: 'ask', type: 'agent_task', config: { prompt: 'Hi', model: 'demo' } }),
      'a',
    );
    t.deepEqual(await of(RunStarted, id), [agent]);
    const [ended] = await of(RunEnded, id);
    t.like(ended, { ...agent, status: 'completed' });
    t.true(ended.duration_ms >= 0);
    const [turn] = await of(TurnFinished, id);
    t.like(turn, { session_id: null, source: 'workflow', run_id: agent.run_id, usage: { model_calls: 1 } });

    const human = await start(chain({ id: 'wait', type: 'human_task', config: {} }), 'b');
    await client(`/v1/workflow-runs/${human.run_id}/cancel`, { method: 'POST', body: {} });
    t.like((await of(RunEnded, id, 2))[1], { ...human, status: 'cancelled' });

    const broken = await start(
      chain({
        id: 'call',
        type: 'service_task',
        config: { url: 'http://127.0.0.1:1/', retry: { max_attempts: 1 } },
      }),
      'c',
    );
    const [paused] = await of(RunFailed, id);
    t.like(paused, { ...broken, node_id: 'call' });
    t.regex(paused.error, /^[a-z_]+$/);
    t.is((await of(RunStarted, id, 3)).length, 3);
  },
);

eachGatewayDatabase(test, 'a chat without subscribers writes nothing for them', async (t, fresh) => {
  const gateway = await startProtected(t, { env: fresh.environment });
  const { token } = await gateway.makeTenant();
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }] };
  const statements = recordStatements(gateway.gateway.services.database);
  t.is((await gateway.request('/v1/chat/completions', { method: 'POST', token, body })).status, 200);
  // The subscriptions of plugins to other events are registered meanwhile.
  const told = statements.take().filter(({ sql }) => /insert into .?kernel_jobs/.test(sql));
  t.deepEqual(told, []);
});

test('a process that does not run the subscriber publishes for it, and its end by kill -9 loses nothing', async (t) => {
  const plugins = await pluginFolder(t);
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'heard.txt');
  await plugins.drop('ledger', {
    'plugin.ts': `
      import { appendFile } from 'node:fs/promises';
      import { definePlugin } from 'agent-gateway';
      import { TurnFinished } from 'agent-gateway/contracts/records';
      export default definePlugin({
        name: 'ledger', summary: 's', kernel: '^1.0.0',
        setup(scope) {
          scope.subscribe(TurnFinished, async ({ session_id }) => appendFile('${file}', session_id + '\\n'));
        },
      });`,
  });
  const env = {
    SVC_PLUGIN_DIRS: plugins.path,
    SVC_PLUGINS: 'platform,ledger',
    OBJECT_STORE_URL: 'none',
  };
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }] };
  const heard = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean);
  const chat = async (gateway: GatewayProcess) => {
    const { status, headers } = await gateway.request('/v1/chat/completions', { method: 'POST', body });
    t.is(status, 200);
    return String(headers.get('x-svc-session-id'));
  };
  const before = await startGatewayProcess(t, folder, env);
  const first = await chat(before);
  await patience(async () => (await heard()).length === 1);
  await before.stop();

  const without = await startGatewayProcess(t, folder, {
    ...env,
    ...FEW_PLUGINS,
  });
  const second = await chat(without);
  await without.stop('SIGKILL');
  t.deepEqual(await heard(), [first]);

  await startGatewayProcess(t, folder, env);
  await patience(async () => (await heard()).length === 2);
  t.deepEqual(await heard(), [first, second]);
});
