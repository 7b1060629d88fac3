import { access, pageOf, pageQuery, type Route, reply, route } from 'agent-gateway';
import type { PricingAdministration } from '../services/pricing-administration.ts';
import { listOf } from './schemas/common.ts';
import {
  ModelParams,
  PricingRuleSchema,
  ReplacePricingRule,
  toPrices,
  toPricingRule,
} from './schemas/pricing-rule.ts';

/** Also the default: who does not know of pages wants to see all prices. */
const MAX_PAGE = 500;
const PATH = '/admin/v1/pricing-rules';
/** Asks for `billing:read` or `billing:write`, by the method. */
const common = { access: access.governance(['billing:*']), tag: 'pricing-rules' } as const;

/** What models cost, for all tenants (specification 1, Admin governance routes; decisions 1.8). */
export function pricingRuleRoutes(pricing: PricingAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List the prices of models, the latest changed first',
      schema: {
        query: pageQuery({ defaultLimit: MAX_PAGE }),
        responses: { 200: listOf('pricing_rules', PricingRuleSchema) },
      },
      handle: async ({ query }) => {
        const page = pageOf(query, MAX_PAGE);
        const { rules, total } = await pricing.list(page);
        return { pricing_rules: rules.map(toPricingRule), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'PUT',
      path: `${PATH}/{model}`,
      summary: 'Set the prices of a model, for calls from now on; for operators',
      schema: { params: ModelParams, body: ReplacePricingRule, responses: { 200: PricingRuleSchema } },
      handle: async ({ identity, params, body }) =>
        toPricingRule(await pricing.replace(identity, params.model, toPrices(body))),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{model}`,
      summary: 'Remove the prices of a model, whose calls then cost nothing; for operators',
      schema: { params: ModelParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        await pricing.remove(identity, params.model);
        return reply.empty();
      },
    }),
  ];
}
