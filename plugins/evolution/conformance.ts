import type { ConformanceOptions } from 'agent-gateway/testing';
import { NO_KNOWLEDGE } from './rules/gene.ts';
import { GeneTable } from './store/tables.ts';

/** What the conformance suite cannot find out by itself. */
export default {
  samples: {
    'PUT /admin/v1/evolution/tenants/{id}/sharing-policy': { body: { labels: ['{marker}'] } },
    'POST /admin/v1/evolution/tenants/{id}/sharing-policy/rollback': { body: { version: 1 } },
  },
  // Routes of operators, which refuse a tenant; and answers that hold sums, or genes of other deployments.
  shared: [
    'GET /admin/v1/evolution/sharing-policy',
    'GET /admin/v1/evolution/sharing-policy/history',
    'GET /api/v2/admin/evolution/stats',
    'GET /api/v2/admin/evolution/federated',
  ],
  async seed({ gateway, request }, { id, token, marker }) {
    const { clock, database, ids } = gateway.services;
    const [gene, now] = [ids.uuid(), new Date(clock.now())];
    const component = 'builtin/calculator';
    await database.forTenant(id).insert(GeneTable, {
      id: gene,
      label: marker,
      signalType: 'tool_success',
      agentName: 'helper',
      taskClass: marker,
      component,
      signals: {},
      strategy: { component, type: 'prefer' },
      contentHash: marker,
      validation: NO_KNOWLEDGE.validation,
      sessions: [],
      state: 'candidate',
      source: 'local',
      contributor: null,
      senderId: null,
      createdAt: now,
      updatedAt: now,
    });
    const path = `/admin/v1/evolution/tenants/${id}/sharing-policy`;
    for (const labels of [['first'], [marker]])
      await request(path, { method: 'PUT', token, body: { labels, reason: marker } });
    return { '/admin/v1/evolution/tenants': id, '/api/v2/admin/evolution/genes': gene };
  },
} satisfies ConformanceOptions;
