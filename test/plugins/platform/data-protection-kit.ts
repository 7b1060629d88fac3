import type { ExecutionContext } from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  type TestTenant,
} from '../../../testing/index.ts';
import { until } from '../../support/until.ts';

export const EXPORT = '/v1/gdpr/export';
export const DATA = '/v1/gdpr/data';
export const CLEANUP = '/v1/gdpr/cleanup-minio';

/** A gateway with what keeps something about people, and other plugins; it is stopped when the test ends. */
export async function startProtected(
  t: ExecutionContext,
  { plugins = [], env, ...options }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    ...options,
    // Deliveries wait for hours, so that there are some.
    env: { SVC_WEBHOOK_BACKOFF: '1h', SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1', ...env },
    plugins: [...new Set([records, agentEngine, platform, workflow, runtime, ...plugins])],
  });
  t.teardown(gateway.stop);
  return gateway;
}

/** What `fill` makes of a user who is named by `X-Svc-User-Id`. */
export const OF_USERS: readonly string[] = [
  'sessions',
  'execution_receipts',
  'usage_records',
  'memories',
  'profiles',
  'agent_checkpoints',
  'conversations',
  'files',
  'chats',
  'chat_events',
  'webhook_deliveries',
  'workflow_runs',
];
/** What it makes of the tenant, or of the identity that called. */
export const OF_TENANT: readonly string[] = [
  'skills',
  'souls',
  'workflow_definitions',
  'workflow_versions',
  'agent_states',
  'agents',
  'users',
  'webhooks',
  'webhook_logs',
];
/** What no erasure deletes. */
export const KEPT: readonly string[] = ['api_keys', 'audit_logs'];
/** Sections whose records say nothing that `fill` can choose. */
export const WORDLESS: readonly string[] = [
  ...KEPT,
  'execution_receipts',
  'usage_records',
  'webhook_logs',
  'webhook_deliveries',
];

const GRAPH = (instructions: string) => ({
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'human_task', config: { instructions } },
    { id: 'done', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', to: 'done' },
  ],
});

const CAREFUL = (marker: string) => `apiVersion: svc/v1
kind: Agent
metadata: { name: careful, description: ${marker} }
spec: { type: chat_model_agent, model: { primary: demo }, tools: [{ ref: builtin/calculator, requires_approval: true }] }
`;

/** Sends requests of a tenant's administrator for a user, and fails where one is refused. */
export function callsAs({ request }: TestGateway, token: string, user?: string) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const named: Record<string, string> = user === undefined ? {} : { 'x-svc-user-id': user };
    const answer = await request(path, {
      method,
      token,
      headers: { ...named, ...headers },
      ...(body !== undefined && { body }),
    });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

/** Makes something of every kind that is kept for a user of a tenant, each with the marker in it. */
export async function fill(
  gateway: TestGateway,
  { token }: TestTenant,
  user: string,
  marker: string,
): Promise<void> {
  const call = callsAs(gateway, token, user);
  const post = (path: string, body: unknown) => call('POST', path, body);
  const sum = `${marker}: use the calculator: what is 17 * 23?`;
  await post('/api/v2/admin/webhooks', {
    url: 'http://127.0.0.1:64999/hook',
    events: ['agent.*'],
    description: marker,
  });
  await post('/v1/agent/chat', { model: 'demo', messages: [{ role: 'user', content: sum }] });
  await call('PUT', `/v1/memories/${marker}`, { value: `likes ${marker}` });
  await call('PUT', '/v1/profile', `I am ${marker}`, { 'content-type': 'text/plain' });
  await call('PUT', '/v1/soul', `Be ${marker}`, { 'content-type': 'text/plain' });
  const skill = `---\nname: ${marker}\ndescription: of ${marker}\nversion: 1.0.0\n---\nDo ${marker}.\n`;
  await call('PUT', `/v1/skills/${marker}`, skill, { 'content-type': 'text/plain' });

  await post('/api/v2/admin/agents', { yaml: CAREFUL(marker) }).catch(() =>
    call('PUT', '/api/v2/admin/agents/careful', { yaml: CAREFUL(marker) }),
  );
  await until(async () => (await gateway.request('/api/v2/agents', { token })).body.agents.length > 0);
  await post('/api/v2/agents/careful/state', { key: marker, value: { of: marker } });
  await post('/api/v2/chat/stream', { agent_id: 'careful', message: sum });
  const { conversation } = await post('/api/v2/conversations', { bot_id: 'careful', title: marker });
  await post('/api/v2/chat/stream', {
    agent_id: 'careful',
    session_id: conversation.id,
    message: `Say ${marker}`,
    background: true,
  });
  await call('GET', `/api/v2/chat/stream?session_id=${conversation.id}`);
  const said = { additional_messages: [{ role: 'user', content: sum }], meta_data: { of: marker } };
  const { data } = await post('/v3/chat', { bot_id: 'careful', ...said });
  const place = `conversation_id=${data.conversation_id}&chat_id=${data.id}`;
  const status = async () => (await call('GET', `/v3/chat/retrieve?${place}`)).data.status;
  await until(async () => (await status()) === 'requires_action');
  const boundary = 'tea';
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${marker}.txt"\r\n\r\n${marker}\r\n--${boundary}--\r\n`;
  await call('POST', '/api/v2/files', file, {
    'content-type': `multipart/form-data; boundary=${boundary}`,
  });
  await post('/api/v2/admin/users', { name: marker, email: `${marker}@example.com`, role: 'viewer' });

  const definition = await post('/v1/workflow-definitions', { name: marker, graph: GRAPH(marker) });
  await post(`/v1/workflow-definitions/${definition.id}/publish`, {});
  await post('/v1/workflow-runs?wait=10', { definition_id: definition.id, input: { marker } });
}

/** An export as a document. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape
export async function exported(gateway: TestGateway, token: string, user?: string): Promise<any> {
  const query = user === undefined ? '' : `?user_id=${encodeURIComponent(user)}`;
  const { status, body } = await gateway.request(`${EXPORT}${query}`, { token });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

/** The keys of a tenant's objects. */
export async function objectKeys({ gateway }: TestGateway, tenantId: string): Promise<readonly string[]> {
  const { objects } = await gateway.services.objects.forTenant(tenantId).list('');
  return objects.map(({ key }) => key);
}
