import type { ConformanceOptions } from 'agent-gateway/testing';

const MESSAGES = [{ role: 'user', content: 'Use the calculator: what is 17 * 23? {marker}' }];
const CHAT = { body: { model: 'demo', messages: MESSAGES } };
const NONE = { params: { id: 'none', kid: 'none' } };

/** What the conformance suite cannot find out by itself. */
export default {
  samples: {
    // The largest page: on a smaller one the suite's own calls would displace other records.
    'GET /v1/audit-logs': { query: { limit: '500' } },
    'GET /admin/v1/audit-logs': { query: { limit: '500' } },
    'POST /v1/chat/completions': CHAT,
    'POST /v1/agent/chat': CHAT,
    'PUT /v1/skills/{name}': {
      body: '---\nname: conformance1\ndescription: About {marker}\nversion: 1.0.0\n---\nTea.\n',
    },
    'POST /admin/v1/tenants/{id}/sandbox-policy': { body: { enabled: false } },
    'PUT /admin/v1/tenants/{id}/retention/{kind}': { params: { kind: 'sessions' }, body: { keep: '90d' } },
    'DELETE /admin/v1/tenants/{id}/retention/{kind}': { params: { kind: 'sessions' } },
    // With unknown ids: the suite needs the tenant and the key later.
    'DELETE /v1/tenants/{id}': NONE,
    'POST /admin/v1/tenants/{id}/api-keys/{kid}/rotate': NONE,
  },
  shared: [
    'GET /v1/models',
    'GET /v1/models/{id*}',
    'GET /v1/openapi',
    'GET /admin/v1/pricing-rules',
    'GET /admin/v1/retention',
    'GET /admin/v1/retention/{kind}/preview',
  ],
  async seed({ request, gateway }, { id, token, marker }) {
    const body = JSON.parse(JSON.stringify(CHAT.body).replace('{marker}', marker));
    await request('/v1/agent/chat', { method: 'POST', token, body });
    // An address that the rules of egress deny.
    await gateway.services.egress.request(id, { url: 'http://127.0.0.1/' }).catch(() => {});
    const [session] = (await request('/v1/sessions', { token })).body.sessions;
    const [receipt] = (await request('/v1/execution-receipts', { token })).body.execution_receipts;
    return {
      '/v1/tenants': id,
      '/admin/v1/tenants': id,
      session_id: session.id,
      '/v1/sessions': session.id,
      '/v1/execution-receipts': receipt.id,
    };
  },
} satisfies ConformanceOptions;
