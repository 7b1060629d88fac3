import {
  AnyId,
  access,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  route,
  Timestamp,
  Type,
} from 'agent-gateway';
import { MAX_PATTERNS, PATTERN_LENGTH, patternProblems } from '../services/webhooks/event-types.ts';
import { logRecord, webhookRecord } from '../services/webhooks/records.ts';
import type { Webhooks } from '../services/webhooks/webhooks.ts';

/** Records of a page at most. */
const MAX_PAGE = 200;

const Url = Type.String({
  maxLength: 2048,
  pattern: '^https?://[^\\s\\p{Cc}\\p{Cs}]+$',
  patternErrorMessage: 'must be a URL, write https://example.com/hooks',
  description: 'http or https, to a public address or one that the operator opened',
  examples: ['https://hooks.example.com/'],
});
const Pattern = Type.String({ minLength: 1, maxLength: PATTERN_LENGTH, examples: ['workflow.*'] });
const Events = Type.Array(Pattern, {
  minItems: 1,
  maxItems: MAX_PATTERNS,
  description: 'Event types, groups such as workflow.* or agent.run.*, or * for all',
});
const Description = Type.String({ maxLength: 1000 });
const Active = Type.Boolean({ description: 'Whether events are delivered' });

const CreateWebhook = Type.Object({
  url: Url,
  events: Type.Optional(Type.Array(Events.items, { ...Events, default: ['*'] })),
  description: Type.Optional(Description),
  active: Type.Optional(Active),
});

const UpdateWebhook = Type.Partial(
  Type.Object({ url: Url, events: Events, description: Description, active: Active }),
  { examples: [{ description: 'Ends of workflows' }] },
);

/** A webhook as clients see it (decisions 3.2). */
const WebhookSchema = Type.Object({
  id: Id,
  url: Type.String({ examples: ['https://hooks.example.com/'] }),
  events: Type.Array(Type.String({ examples: ['workflow.*'] })),
  active: Type.Boolean(),
  description: Type.String({ examples: ['Ends of workflows'] }),
  created_at: Timestamp,
});

const One = Type.Object({ webhook: WebhookSchema });
const WithSecret = Type.Object({
  webhook: WebhookSchema,
  secret: Type.String({
    description: 'whsec_ and base64 of 32 bytes; shown this once',
    examples: ['whsec_JwoaN/jzOC4W+rFLWNKV+aJr40FFaObgl3On28DXc40='],
  }),
});

/** An attempt as clients see it (decisions 3.2). */
const LogSchema = Type.Object({
  id: Id,
  event_id: Type.String({ ...AnyId, description: 'The header webhook-id' }),
  event_type: Type.String({ examples: ['webhook.test'] }),
  status_code: Type.Union([Type.Integer(), Type.Null()], {
    description: 'null where there was no answer',
    examples: [null],
  }),
  attempt: Type.Integer({ examples: [1] }),
  duration_ms: Type.Integer({ examples: [59] }),
  error: Type.Union([Type.String(), Type.Null()], {
    examples: ['The name hooks.example.com cannot be resolved.'],
  }),
  delivered_at: Timestamp,
});

/**
 * Whether a tenant may call the address depends on its egress rules and on DNS: the service checks it, of sound bodies.
 */
const refuse = refusing(({ events }) => patternProblems(events));

const query = pageQuery({ defaultLimit: 50 });

const common = { access: access.role('admin'), tag: 'webhooks' } as const;
const PATH = '/admin/webhooks';
const ONE = `${PATH}/{id}`;

/** The administration of a tenant's webhooks (specification 3, v2 HTTP API; decisions 3.2). */
export function webhookRoutes(webhooks: Webhooks): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List webhooks, newest first',
      schema: { query, responses: { 200: listOf('webhooks', WebhookSchema) } },
      handle: async (call) => {
        const asked = pageOf(call.query, MAX_PAGE);
        const found = await webhooks.list(call.tenant.id, asked);
        return { webhooks: found.webhooks.map(webhookRecord), total: found.total, ...asked };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Make a webhook; its signing secret is in this answer alone',
      schema: { body: CreateWebhook, responses: { 201: WithSecret } },
      refuse,
      handle: async (call) => {
        const { url, events = ['*'], description = '', active = true } = call.body;
        const content = { url, events: unique(events), description, active };
        const { webhook, secret } = await webhooks.create(call.tenant.id, content);
        call.audit({ changes: { webhook_id: webhook.id, active } });
        return reply.created({ webhook: webhookRecord(webhook), secret });
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: ONE,
      summary: 'Read a webhook',
      schema: { params: IdParams, responses: { 200: One } },
      handle: async (call) => ({
        webhook: webhookRecord(await webhooks.get(call.tenant.id, call.params.id)),
      }),
    }),
    route({
      ...common,
      method: 'PUT',
      path: ONE,
      summary: 'Change a webhook; absent fields stay as they are',
      schema: { params: IdParams, body: UpdateWebhook, responses: { 200: One } },
      refuse,
      handle: async (call) => {
        const { events, url, description, active } = call.body;
        const content = { url, events: events && unique(events), description, active };
        const given = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined));
        const webhook = await webhooks.update(call.tenant.id, call.params.id, given);
        call.audit({
          changes: { webhook_id: webhook.id, active: webhook.active, changed: Object.keys(given).join(',') },
        });
        return { webhook: webhookRecord(webhook) };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: ONE,
      summary: 'Delete a webhook with its log; events on their way to it are not delivered',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        await webhooks.remove(call.tenant.id, call.params.id);
        call.audit({ changes: { webhook_id: call.params.id, deleted: true } });
        return reply.empty();
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: `${ONE}/rotate-secret`,
      summary: 'Give a webhook another secret; for a day deliveries are signed with the one before as well',
      schema: { params: IdParams, responses: { 200: WithSecret } },
      handle: async (call) => {
        const { webhook, secret } = await webhooks.rotateSecret(call.tenant.id, call.params.id);
        call.audit({ changes: { webhook_id: webhook.id, secret_rotated: true } });
        return { webhook: webhookRecord(webhook), secret };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: `${ONE}/test`,
      summary: 'Send a webhook.test event now, once, and show what became of it',
      description:
        'Answers 200 whatever the receiver says: a failure is in `error`. The attempt is in the log.',
      schema: {
        params: IdParams,
        responses: { 200: Type.Object({ success: Type.Boolean({ examples: [false] }), log: LogSchema }) },
      },
      handle: async (call) => {
        const log = await webhooks.test(call.tenant.id, call.params.id, call.signal);
        return { success: log.error === null, log: logRecord(log) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: `${ONE}/logs`,
      summary: 'List the attempts to deliver events to a webhook, newest first',
      schema: {
        params: IdParams,
        query,
        responses: { 200: listOf('logs', LogSchema) },
      },
      handle: async (call) => {
        const asked = pageOf(call.query, MAX_PAGE);
        const { logs, total } = await webhooks.logs(call.tenant.id, call.params.id, asked);
        return { logs: logs.map(logRecord), total, ...asked };
      },
    }),
  ];
}

const unique = (events: readonly string[]): readonly string[] => [...new Set(events)];
