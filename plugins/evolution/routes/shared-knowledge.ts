import {
  access,
  type FieldError,
  parseAuditTime,
  type Route,
  reachOf,
  refusing,
  requireSound,
  route,
  type UnreadBody,
} from 'agent-gateway';
import type { SharedKnowledge } from '../contract.ts';
import { Revoke, Revoked } from './sharing-schemas.ts';

/** The revocation of shared knowledge (decisions 1.11). */
export function sharedKnowledgeRoutes(knowledge: SharedKnowledge): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/admin/v1/evolution/shared-knowledge/revoke',
      access: access.governance(['sharing:*', 'security:*']),
      tag: 'shared-knowledge',
      summary: 'Revoke shared knowledge by tenant, task class, source or time, for good',
      description: 'Operators revoke it in all tenants, others in their own.',
      schema: { body: Revoke, responses: { 200: Revoked } },
      refuse: refusing(revocationProblems),
      handle: async (call) => {
        requireSound(revocationProblems(call.body));
        const { confirm_all: _, reason = '', ...filter } = call.body;
        const { task_class: taskClass, source_tenant: sourceTenant, source } = filter;
        const [from, to] = [momentOf('from', filter.from), momentOf('to', filter.to)];
        const tenantId = reachOf(call.identity);
        const deleted = await knowledge.revoke(
          { tenantId, taskClass, sourceTenant, source, from, to },
          reason,
        );
        call.audit({ changes: { ...filter, deleted } });
        return { deleted };
      },
    }),
  ];
}

/** What no schema says of a revocation: times that are none, a window that ends before it begins, no filter at all. */
function revocationProblems(body: UnreadBody): readonly FieldError[] {
  // A filter that is misspelled counts as one: nobody is told to confirm that all knowledge is meant.
  const { confirm_all: isAll, reason: _, ...filter } = body;
  const problems: FieldError[] = [];
  for (const bound of ['from', 'to'] as const) {
    if (typeof filter[bound] !== 'string' || momentOf(bound, filter[bound]) !== undefined) continue;
    const message = 'must be an RFC 3339 timestamp without a leap second';
    problems.push({ pointer: `/body/${bound}`, message });
  }
  const [from, to] = [momentOf('from', filter.from), momentOf('to', filter.to)];
  if (from !== undefined && to !== undefined && from > to)
    problems.push({ pointer: '/body/from', message: 'must not be after `to`' });
  if (Object.keys(filter).length === 0 && isAll !== true) {
    const message = 'must be true where nothing narrows what is revoked';
    problems.push({ pointer: '/body/confirm_all', message });
  }
  return problems;
}

/** Undefined for what is no time. */
function momentOf(bound: 'from' | 'to', text: unknown): Date | undefined {
  return typeof text === 'string' ? parseAuditTime(text, bound) : undefined;
}
