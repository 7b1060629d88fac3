import {
  access,
  defineErrors,
  type FieldError,
  fromWire,
  type Identity,
  isOperator,
  listOf,
  nullable,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
  Timestamp,
  Type,
  toWire,
  type UnreadBody,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { Prices, PricingRule, PricingRules } from '../../records/contract.ts';

/** Prices are stored with nine decimals; a smaller one would be stored as 0. */
const SMALLEST = 1e-9;
const Price = Type.Number({
  minimum: 0,
  maximum: 1_000_000,
  description: 'US dollars for 1,000 tokens; nine decimals are kept',
  examples: [0.0006],
});
const CachePrice = nullable({
  ...Price,
  description: 'Like `input_per_1k`; null: as much as that',
  examples: [null],
});

/** The `{model}` of a path: a provider's model id or an alias, `/` percent-encoded. */
const ModelParams = Type.Object({
  model: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^[^\\p{Cc}\\p{Cs}]+$',
    patternErrorMessage: 'must not hold control characters',
  }),
});

/** The body that sets the prices of a model. A client may send back a rule that it has read. */
const ReplacePricingRule = Type.Object({
  input_per_1k: Price,
  output_per_1k: Price,
  cache_read_per_1k: Type.Optional(CachePrice),
  cache_write_per_1k: Type.Optional(CachePrice),
  currency: Type.Optional(Type.Literal('USD')),
});

/** A pricing rule as clients see it (decisions 1.8). */
const PricingRuleSchema = Type.Object({
  model: Type.String({ examples: ['default'] }),
  input_per_1k: Price,
  output_per_1k: Price,
  cache_read_per_1k: CachePrice,
  cache_write_per_1k: CachePrice,
  currency: Type.Literal('USD'),
  updated_at: Timestamp,
});

const read = fromWire(ReplacePricingRule);
const write = toWire(PricingRuleSchema);

/** The prices of a body that are too small to be stored. */
function tooSmall(body: UnreadBody): readonly FieldError[] {
  return Object.keys(ReplacePricingRule.properties)
    .filter((name) => typeof body[name] === 'number' && body[name] > 0 && body[name] < SMALLEST)
    .map((name) => ({ pointer: `/body/${name}`, message: 'must be 0, or 0.000000001 or more' }));
}

/** The prices in a body. Throws 400 naming those that are too small to be stored. */
function toPrices(body: Static<typeof ReplacePricingRule>): Prices {
  requireSound(tooSmall(body));
  const { inputPer1k, outputPer1k, cacheReadPer1k = null, cacheWritePer1k = null } = read(body);
  return { inputPer1k, outputPer1k, cacheReadPer1k, cacheWritePer1k };
}

/** A rule on the wire. */
function toPricingRule(rule: PricingRule): Static<typeof PricingRuleSchema> {
  return write({ ...rule, currency: 'USD' });
}

/** What is refused about pricing rules. They hold for all tenants: everybody reads them, operators write them. */
const PricingRuleErrors = defineErrors({
  operatorOnly: {
    code: 'pricing.operator-only',
    kind: 'forbidden',
    title: 'Pricing rules hold for all tenants and are changed by operators only',
  },
});

function requireOperator(identity: Identity): void {
  if (!isOperator(identity)) throw PricingRuleErrors.operatorOnly();
}

const PATH = '/admin/v1/pricing-rules';
/** Asks for `billing:read` or `billing:write`, by the method. */
const common = { access: access.governance(['billing:*']), tag: 'pricing-rules' } as const;

/** What models cost, for all tenants (specification 1, Admin governance routes; decisions 1.8). */
export function pricingRuleRoutes(pricing: PricingRules): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List the prices of models, the latest changed first',
      schema: {
        query: pageQuery({ defaultLimit: 500 }),
        responses: { 200: listOf('pricing_rules', PricingRuleSchema) },
      },
      handle: async ({ query }) => {
        const page = pageOf(query);
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
      refuse: refusing(tooSmall),
      handle: async ({ identity, params, body }) => {
        requireOperator(identity);
        return toPricingRule(await pricing.replace(params.model, toPrices(body)));
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{model}`,
      summary: 'Remove the prices of a model, whose calls then cost nothing; for operators',
      schema: { params: ModelParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        requireOperator(identity);
        await pricing.remove(params.model);
        return reply.empty();
      },
    }),
  ];
}
