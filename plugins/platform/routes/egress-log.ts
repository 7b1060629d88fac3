import { AUDIT_MAX_LIMIT, access, pageOf, type Route, route } from 'agent-gateway';
import type { AuditSearch } from '../services/audit-search.ts';
import { listOf } from './schemas/common.ts';
import { BlockedEvent, BlockedLogQuery, toBlockedEvent, toBlockedFilter } from './schemas/egress.ts';

/** The outbound requests that were denied, out of the audit log (specification 1, Admin governance routes; decisions 1.12). */
export function egressLogRoute(search: AuditSearch): Route {
  return route({
    method: 'GET',
    path: '/admin/v1/egress/blocked-log',
    access: access.governance(['audit:read', 'security:read']),
    summary:
      'List denied outbound requests, newest first: of all tenants for operators, of your own for others',
    tag: 'egress',
    schema: { query: BlockedLogQuery, responses: { 200: listOf('blocked_events', BlockedEvent) } },
    handle: async ({ identity, query }) => {
      const page = pageOf(query, AUDIT_MAX_LIMIT);
      const filter = toBlockedFilter(query);
      const { records, total } = await search.acrossTenants(identity, query.tenant_id, filter, page);
      return { blocked_events: records.map(toBlockedEvent), total, ...page };
    },
  });
}
