import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Type } from '../../../foundation/base/type.ts';
import { defineJob } from '../../../foundation/messages/jobs/jobs.ts';
import { type Turns, TurnsRef } from '../../../plugins/records/contract.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { chain } from '../../support/workflow-story.ts';
import { adminSuccesses } from './admin-successes.ts';
import type { AllPlugins } from './all-plugins.ts';
import { channelSuccesses } from './channel-successes.ts';
import { cozeSuccesses } from './coze-successes.ts';
import { hubSuccesses } from './hub-successes.ts';
import type { Input } from './inputs.ts';
import { jobSuccesses } from './job-successes.ts';
import { geneSuccesses, sharingSuccesses } from './sharing-successes.ts';
import type { Known, Step } from './step.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
const Lost = defineJob('story.lost', Type.Object({}), { attempts: 1, backoff: { first: 1, most: 1 } });

/**
 * A plugin for what no route makes: a job that fails for good, and a chat that is in flight. It can be switched without
 * harm.
 */
export function storyPlugin() {
  let turns: Turns | undefined;
  const plugin = testPlugin('story', {
    needs: { turns: TurnsRef },
    jobs: [Lost],
    setup(scope, needs) {
      ({ turns } = needs as { turns: Turns });
      scope.worker(Lost, async () => {
        throw new Error('it never works');
      });
    },
  });
  return { plugin, turns: () => turns! };
}

const MESSAGES = [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }];
const HELPER = `apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: Calculates }
spec:
  type: chat_model_agent
  tools: [{ ref: builtin/calculator, requires_approval: true }]
`;
const none = () => ({});

/** One call or more of every operation, in an order in which each succeeds. */
export function successes(gateway: AllPlugins, turns: () => Turns): readonly Step[] {
  const { services } = gateway.gateway;

  async function deadJob(): Promise<Input> {
    const entities = services.database.forTenant(DEFAULT_TENANT);
    const id = await entities.transaction((inside) => services.jobs.publish(inside, Lost, {}));
    await until(async () => (await gateway.request(`/admin/v1/jobs/${id}`)).body.state === 'dead');
    return { params: { id } };
  }
  async function chatInFlight(): Promise<Input> {
    const principal = { tenantId: DEFAULT_TENANT, identityId: 'static-token', userId: 'static-token' };
    const { signal } = new AbortController();
    const turn = await turns().begin({ principal, isAdmin: true, maxSessions: 10, signal });
    turn.signal.addEventListener('abort', () => void turn[Symbol.asyncDispose]());
    return { body: { session_id: turn.sessionId } };
  }
  async function settledRun({ run = '' }: Known, status: string): Promise<void> {
    await until(async () => (await gateway.request(`/v1/workflow-runs/${run}`)).body.status === status);
  }

  /** An agent that asks before it calculates. */
  async function agent(): Promise<Input> {
    await writeFile(path.join(gateway.folder, 'agents.d', 'helper.yaml'), HELPER);
    await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length > 0);
    return {};
  }
  const place = ({ conversation: id = '' }: Known) => ({ agent_id: 'helper', session_id: id });
  const sum = (known: Known) => ({ body: { ...place(known), message: MESSAGES[0]!.content } });
  const conversation = ({ conversation: id = '' }: Known) => ({ params: { id } });
  const chatSession = ({ conversation: id = '' }: Known) => ({ params: { session_id: id } });
  const file = ({ file: id = '' }: Known) => ({ params: { id } });
  const webhook = ({ webhook: id = '' }: Known) => ({ params: { id } });
  const form = {
    headers: { 'content-type': 'multipart/form-data; boundary=tea' },
    body: '--tea\r\nContent-Disposition: form-data; name="file"; filename="tea.txt"\r\n\r\ngreen\r\n--tea--\r\n',
  };
  const tenant = ({ tenant: id = '' }: Known) => ({ params: { id } });
  const rule = ({ tenant: id = '' }: Known) => ({ params: { id, kind: 'sessions' } });
  const key = ({ tenant: id = '', key: kid = '' }: Known) => ({ params: { id, kid } });
  const definition = ({ definition: id = '' }: Known) => ({ params: { id } });
  const run = ({ run: id = '' }: Known) => ({ params: { id } });
  const session = ({ session: id = '' }: Known) => ({ params: { id } });
  const remember = (name: string) => (known: Known, body: { id: string }) => {
    known[name] = body.id;
  };
  const markdown = { body: '---\nname: tea\ndescription: About tea\nversion: 1.0.0\n---\nTea.\n' };
  const graph = chain({ id: 'ask', type: 'human_task', config: { instructions: 'Say' } });
  // An address that the egress rules deny: the step fails, and the run is paused.
  const broken = chain({ id: 'call', type: 'service_task', config: { url: 'http://127.0.0.1:1/' } });

  return [
    ['GET /health/live', none],
    ['GET /health/ready', none],
    ['GET /metrics', none],
    ['GET /', none],
    ['GET /admin.html', none],
    ['GET /static/{path}', () => ({ params: { path: 'page.txt' } })],
    ['GET /admin/v1/bootstrap/status', none],
    ['POST /admin/v1/bootstrap', none],
    ['GET /v1/me', none],
    ['GET /v1/openapi', none],
    ['GET /admin/v1/readiness', none],

    ['POST /v1/tenants', () => ({ body: { name: 'Tea' } }), remember('tenant')],
    ['GET /v1/tenants', none],
    ['GET /v1/tenants/{id}', tenant],
    ['PUT /v1/tenants/{id}', (known) => ({ ...tenant(known), body: { rate_limit_rpm: 600 } })],
    ['POST /v1/api-keys', () => ({ body: { name: 'k' } }), remember('ownKey')],
    ['GET /v1/api-keys', none],
    ['DELETE /v1/api-keys/{id}', ({ ownKey = '' }) => ({ params: { id: ownKey } })],
    [
      'POST /admin/v1/tenants/{id}/api-keys',
      (known) => ({ ...tenant(known), body: { name: 'k' } }),
      remember('key'),
    ],
    ['GET /admin/v1/tenants/{id}/api-keys', tenant],
    [
      'POST /admin/v1/tenants/{id}/api-keys/{kid}/rotate',
      key,
      (known, { new_key }) => remember('key')(known, new_key),
    ],
    ['DELETE /admin/v1/tenants/{id}/api-keys/{kid}', key],
    [
      'POST /admin/v1/tenants/{id}/sandbox-policy',
      (known) => ({ ...tenant(known), body: { enabled: false } }),
    ],
    ['GET /admin/v1/tenants/{id}/sandbox-policy', tenant],
    ['DELETE /admin/v1/tenants/{id}/sandbox-policy', tenant],
    ['GET /admin/v1/retention', none],
    [
      'GET /admin/v1/retention/{kind}/preview',
      () => ({ params: { kind: 'sessions' }, query: { keep: '90d' } }),
    ],
    ['PUT /admin/v1/tenants/{id}/retention/{kind}', (known) => ({ ...rule(known), body: { keep: '90d' } })],
    ['GET /admin/v1/tenants/{id}/retention', tenant],
    ['DELETE /admin/v1/tenants/{id}/retention/{kind}', rule],
    ['DELETE /v1/tenants/{id}', tenant],
    ['POST /v1/tenants/{id}/restore', tenant],

    [
      'PUT /admin/v1/pricing-rules/{model}',
      () => ({ params: { model: 'demo' }, body: { input_per_1k: 1, output_per_1k: 2 } }),
    ],
    ['GET /admin/v1/pricing-rules', none],
    [
      'POST /admin/v1/egress/rules',
      () => ({ body: { host_pattern: 'tea.example', action: 'deny' } }),
      remember('rule'),
    ],
    ['GET /admin/v1/egress/rules', none],
    ['DELETE /admin/v1/egress/rules/{id}', ({ rule = '' }) => ({ params: { id: rule } })],

    ['GET /v1/models', none],
    ['GET /v1/models/{id}', () => ({ params: { id: 'demo' } })],
    ['POST /v1/chat/completions', () => ({ body: { model: 'demo', messages: MESSAGES } })],
    ['POST /v1/chat/completions', () => ({ body: { model: 'demo', messages: MESSAGES, stream: true } })],
    [
      'POST /v1/agent/chat',
      () => ({ body: { model: 'demo', messages: MESSAGES, include_agentic_blocks: true } }),
    ],
    ['POST /v1/agent/chat', () => ({ body: { model: 'demo', messages: MESSAGES, stream: true } })],
    ['POST /v1/chat/abort', chatInFlight],
    ['POST /v1/mock-sessions', none, remember('session')],
    ['GET /v1/sessions', none],
    ['GET /v1/sessions/{id}', session],
    ['GET /v1/usage/details', ({ session: id = '' }) => ({ query: { session_id: id } })],
    ['DELETE /v1/sessions/{id}', session],
    [
      'GET /v1/execution-receipts',
      none,
      (known, { execution_receipts: [receipt] }) => remember('receipt')(known, receipt),
    ],
    ['GET /v1/execution-receipts/{id}', ({ receipt = '' }) => ({ params: { id: receipt } })],
    ['GET /v1/usage', none],
    ['GET /admin/v1/usage', none],
    ['GET /admin/v1/usage/tenants', none],
    ['DELETE /admin/v1/pricing-rules/{model}', () => ({ params: { model: 'demo' } })],

    ['PUT /v1/memories/{key}', () => ({ params: { key: 'tea' }, body: { value: 'green' } })],
    ['GET /v1/memories', none],
    ['DELETE /v1/memories/{key}', () => ({ params: { key: 'tea' } })],
    ['PUT /v1/profile', () => ({ body: 'Likes tea.' })],
    ['GET /v1/profile', none],
    ['PUT /v1/soul', () => ({ body: 'Be kind.' })],
    ['GET /v1/soul', none],
    ['PUT /v1/skills/{name}', () => ({ params: { name: 'tea' }, ...markdown })],
    ['GET /v1/skills', none],
    ['GET /v1/skills/{name}', () => ({ params: { name: 'tea' } })],
    ['DELETE /v1/skills/{name}', () => ({ params: { name: 'tea' } })],

    ['POST /v1/workflow-definitions', () => ({ body: { name: 'draft', graph } }), remember('definition')],
    ['DELETE /v1/workflow-definitions/{id}', definition],
    ['POST /v1/workflow-definitions', () => ({ body: { name: 'ask', graph } }), remember('definition')],
    ['GET /v1/workflow-definitions', none],
    ['GET /v1/workflow-definitions/{id}', definition],
    [
      'PUT /v1/workflow-definitions/{id}',
      (known) => ({ ...definition(known), body: { description: 'Asks' } }),
    ],
    ['POST /v1/workflow-definitions/{id}/publish', definition],
    ['GET /v1/workflow-definitions/{id}/versions', definition],
    [
      'GET /v1/workflow-definitions/{id}/versions/{version}',
      ({ definition: id = '' }) => ({ params: { id, version: '1' } }),
    ],
    [
      'POST /v1/workflow-runs',
      ({ definition: id = '' }) => ({ body: { definition_id: id } }),
      async (known, body) => {
        remember('run')(known, body);
        await settledRun(known, 'waiting');
      },
    ],
    ['GET /v1/workflow-runs', none],
    ['GET /v1/workflow-runs/{id}', run],
    [
      'GET /v1/workflow-tasks',
      none,
      (known, [task]) => {
        known.step = task.step_run_id;
      },
    ],
    [
      'GET /v1/workflow-runs/{id}/steps/{step_run_id}',
      (known) => ({ params: { id: known.run!, step_run_id: known.step! } }),
    ],
    [
      'POST /v1/workflow-tasks/{step_run_id}/complete',
      (known) => ({ params: { step_run_id: known.step! } }),
      (known) => settledRun(known, 'completed'),
    ],
    ['GET /v1/workflow-runs/{id}/events', run],
    [
      'GET /v1/workflow-runs/{id}/events',
      (known) => ({ ...run(known), headers: { accept: 'text/event-stream' } }),
    ],
    ['POST /v1/workflow-definitions/{id}/archive', definition],
    [
      'POST /v1/workflow-definitions',
      () => ({ body: { name: 'broken', graph: broken } }),
      remember('definition'),
    ],
    ['POST /v1/workflow-definitions/{id}/publish', definition],
    [
      'POST /v1/workflow-runs',
      ({ definition: id = '' }) => ({ body: { definition_id: id } }),
      async (known, body) => {
        remember('run')(known, body);
        await settledRun(known, 'paused');
      },
    ],
    ['POST /v1/workflow-runs/{id}/retry', run, (known) => settledRun(known, 'paused')],
    ['POST /v1/workflow-runs/{id}/cancel', run],
    ['GET /admin/v1/egress/blocked-log', none],
    ['GET /v1/audit-logs', none],
    ['GET /admin/v1/audit-logs', none],

    ['GET /api/v2/agents', agent],
    ['GET /api/v2/tools', none],
    ['GET /api/v2/skills', none],
    ['GET /api/v2/skills/search', () => ({ query: { q: 'a' } })],
    ['GET /api/v2/me', none],
    [
      'POST /api/v2/conversations',
      () => ({ body: { bot_id: 'helper', title: 'Sums', meta_data: { topic: 'sums' } } }),
      (known, { conversation: made }) => remember('conversation')(known, made),
    ],
    ['GET /api/v2/conversations', () => ({ query: { bot_id: 'helper' } })],
    ['GET /api/v2/conversations/{id}', conversation],
    ['PUT /api/v2/conversations/{id}', (known) => ({ ...conversation(known), body: { title: 'More sums' } })],
    ['POST /api/v2/chat/stream', sum],
    ['GET /api/v2/chat/interrupt_state', (known) => ({ query: place(known) })],
    ['GET /api/v2/chat/interrupts', none],
    [
      'POST /api/v2/chat/resume',
      (known) => ({ body: { ...place(known), input: { decision: 'approve' } }, query: { a2ui: 'true' } }),
    ],
    ['POST /api/v2/chat/stream', (known) => ({ body: { ...(sum(known).body as object), background: true } })],
    ['GET /api/v2/chat/stream', ({ conversation: id = '' }) => ({ query: { session_id: id } })],
    ['POST /api/v2/chat/abort', (known) => ({ body: place(known) })],
    [
      'GET /api/v2/conversations/{conversation_id}/messages',
      ({ conversation: id = '' }) => ({ params: { conversation_id: id } }),
      (known, { messages: [message] }) => remember('message')(known, message),
    ],
    [
      'DELETE /api/v2/conversations/{conversation_id}/messages/{message_id}',
      ({ conversation: id = '', message = '' }) => ({ params: { conversation_id: id, message_id: message } }),
    ],
    ['GET /api/v2/sessions/{session_id}/messages', chatSession],
    ['DELETE /api/v2/sessions/{session_id}', chatSession],
    ['DELETE /api/v2/conversations/{id}', conversation],
    ['POST /api/v2/files', () => form, (known, { file: made }) => remember('file')(known, made)],
    ['GET /api/v2/files', none],
    ['GET /api/v2/files/{id}', file],
    ['GET /api/v2/files/{id}/content', file],
    ['DELETE /api/v2/files/{id}', file],
    [
      'POST /api/v2/agents/{agent_id}/state',
      () => ({ params: { agent_id: 'helper' }, body: { key: 'tea', value: { green: [1, null] } } }),
    ],
    ['GET /api/v2/agents/{agent_id}/state', () => ({ params: { agent_id: 'helper' } })],
    ['GET /api/v2/agents/{agent_id}/state/{key}', () => ({ params: { agent_id: 'helper', key: 'tea' } })],
    ['DELETE /api/v2/agents/{agent_id}/state/{key}', () => ({ params: { agent_id: 'helper', key: 'tea' } })],
    [
      'POST /api/v2/memory/long-term',
      () => ({ body: { user_id: 'ann', content: 'Likes green tea', metadata: { source: 'chat' } } }),
      (known, { memory: made }) => remember('memory')(known, made),
    ],
    ['GET /api/v2/memory/long-term', () => ({ query: { user_id: 'ann' } })],
    ['GET /api/v2/memory/long-term/search', () => ({ query: { user_id: 'ann', q: 'green tea' } })],
    [
      'PUT /api/v2/memory/long-term/{id}',
      ({ memory: id = '' }) => ({ params: { id }, body: { content: 'Likes tea' } }),
    ],
    ['DELETE /api/v2/memory/long-term/{id}', ({ memory: id = '' }) => ({ params: { id } })],
    [
      'POST /api/v2/admin/webhooks',
      () => ({ body: { url: 'https://hooks.tea.example/', events: ['workflow.*'], description: 'Tea' } }),
      (known, { webhook: made }) => remember('webhook')(known, made),
    ],
    ['GET /api/v2/admin/webhooks', none],
    ['GET /api/v2/admin/webhooks/{id}', webhook],
    ['PUT /api/v2/admin/webhooks/{id}', (known) => ({ ...webhook(known), body: { description: 'Tea' } })],
    ['POST /api/v2/admin/webhooks/{id}/test', webhook],
    ['POST /api/v2/admin/webhooks/{id}/rotate-secret', webhook],
    ['GET /api/v2/admin/webhooks/{id}/logs', webhook],
    ['DELETE /api/v2/admin/webhooks/{id}', webhook],

    ...cozeSuccesses(gateway),
    ...channelSuccesses(gateway),
    ...jobSuccesses(gateway),
    ...adminSuccesses,
    ...sharingSuccesses,
    ...geneSuccesses(gateway),
    ...hubSuccesses(gateway),
    ['GET /admin/v1/jobs', none],
    ['GET /admin/v1/jobs/{id}', deadJob],
    ['POST /admin/v1/jobs/{id}/retry', deadJob],
    ['DELETE /admin/v1/jobs/{id}', deadJob],
    ['GET /admin/v1/plugins', none],
    ['GET /admin/v1/plugins/{name}', () => ({ params: { name: 'story' } })],
    ['POST /admin/v1/plugins/{name}/disable', () => ({ params: { name: 'story' } })],
    ['POST /admin/v1/plugins/{name}/enable', () => ({ params: { name: 'story' } })],
    ['POST /admin/v1/plugins/{name}/reload', () => ({ params: { name: 'story' } })],

    ['GET /v1/gdpr/export', () => ({ query: { user_id: 'nobody' } })],
    ['POST /v1/gdpr/cleanup-minio', none],
    ['DELETE /v1/gdpr/data', () => ({ query: { user_id: 'nobody' } })],
  ];
}
