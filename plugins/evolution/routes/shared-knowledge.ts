import { access, parseAuditTime, type Route, reachOf, route } from 'agent-gateway';
import type { SharedKnowledge } from '../contract.ts';
import { badMember, Revoke, Revoked } from './sharing-schemas.ts';

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
      handle: async (call) => {
        const { confirm_all, reason = '', ...filter } = call.body;
        const { task_class: taskClass, source_tenant: sourceTenant, source } = filter;
        const [from, to] = [momentOf('from', filter.from), momentOf('to', filter.to)];
        if (Object.keys(filter).length === 0 && confirm_all !== true)
          throw badMember('/body/confirm_all', 'must be true where nothing narrows what is revoked');
        if (from !== undefined && to !== undefined && from > to)
          throw badMember('/body/from', 'must not be after `to`');
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

/** Throws 400 for what is well-formed and no time, such as a leap second. */
function momentOf(bound: 'from' | 'to', text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const moment = parseAuditTime(text, bound);
  if (moment !== undefined) return moment;
  throw badMember(`/body/${bound}`, 'must be an RFC 3339 timestamp without a leap second');
}
