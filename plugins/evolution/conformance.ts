import type { ConformanceOptions } from 'agent-gateway/testing';

/** What the conformance suite cannot find out by itself. */
export default {
  samples: {
    'PUT /admin/v1/evolution/tenants/{id}/sharing-policy': { body: { labels: ['{marker}'] } },
    'POST /admin/v1/evolution/tenants/{id}/sharing-policy/rollback': { body: { version: 1 } },
  },
  // The operators' own: a tenant is refused.
  shared: ['GET /admin/v1/evolution/sharing-policy', 'GET /admin/v1/evolution/sharing-policy/history'],
  async seed({ request }, { id, token, marker }) {
    const path = `/admin/v1/evolution/tenants/${id}/sharing-policy`;
    for (const labels of [['first'], [marker]])
      await request(path, { method: 'PUT', token, body: { labels, reason: marker } });
    return { '/admin/v1/evolution/tenants': id };
  },
} satisfies ConformanceOptions;
