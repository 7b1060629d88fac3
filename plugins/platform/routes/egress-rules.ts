import { access, pageOf, type Route, reply, route } from 'agent-gateway';
import type { EgressAdministration } from '../services/egress-administration.ts';
import { IdParams, listOf } from './schemas/common.ts';
import {
  CreateEgressRule,
  EgressRuleQuery,
  EgressRuleSchema,
  toEgressRule,
  toWantedRule,
} from './schemas/egress.ts';

const MAX_PAGE = 500;
const PATH = '/admin/v1/egress/rules';
/** Asks for `security:read` or `security:write`, by the method. */
const common = { access: access.governance(['security:*']), tag: 'egress' } as const;

/** The rules about outbound requests (decisions 1.12). A rule is not changed: it is deleted, and another one made. */
export function egressRuleRoutes(rules: EgressAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List egress rules: of all tenants for operators, of your own for others',
      schema: { query: EgressRuleQuery, responses: { 200: listOf('rules', EgressRuleSchema) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, MAX_PAGE);
        const { records, total } = await rules.list(identity, query.tenant_id, page);
        return { rules: records.map(toEgressRule), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Allow or deny outbound requests of a tenant by host and path',
      schema: { body: CreateEgressRule, responses: { 201: EgressRuleSchema } },
      handle: async ({ identity, body }) =>
        reply.created(toEgressRule(await rules.create(identity, toWantedRule(body)))),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete an egress rule',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        await rules.remove(identity, params.id);
        return reply.empty();
      },
    }),
  ];
}
