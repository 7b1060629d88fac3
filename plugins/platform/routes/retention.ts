import {
  access,
  type FieldError,
  formatDuration,
  Id,
  IdParams,
  listOf,
  nullable,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  requireSound,
  route,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import type { Static } from 'typebox';
import { FOREVER, parseKeep, type RetentionInForce } from '../../records/contract.ts';
import type { RetentionAdministration } from '../services/retention-administration.ts';
import { done } from './common.ts';

const DAY_MS = 24 * 3_600_000;
/** Tenants of a page at most: each has its records counted. */
const MAX_PREVIEWS = 100;

const Keep = Type.String({
  maxLength: 40,
  description: `A duration from \`1h\` to \`36500d\`, or \`${FOREVER}\``,
  examples: ['90d'],
});

const Kind = Type.String({ description: 'Which records', examples: ['sessions'] });

/** Who decided a rule, with one for the document to show. */
const sourceLike = (example: RetentionInForce['source']) =>
  Type.Unsafe<RetentionInForce['source']>({
    type: 'string',
    enum: ['tenant', 'deployment', 'default'],
    description: 'What decided it: the tenant, the operator, or neither',
    examples: [example],
  });

/** How long records of a kind are kept. */
const RetentionView = Type.Object({
  kind: Kind,
  summary: Type.String({
    description: 'What they are, and what goes with them',
    examples: ['Sessions by their last turn, with their messages; receipts and usage stay'],
  }),
  keep: Keep,
  source: sourceLike('tenant'),
  deletes_from: nullable(
    Type.String({
      format: 'date-time',
      examples: ['2030-01-02T00:00:00.000Z'],
      description: 'Until then nothing of the kind is deleted; null: there is nothing to wait for',
    }),
  ),
});

/** The same where no tenant has decided. */
const CommonView = Type.Object({ ...RetentionView.properties, source: sourceLike('default') });

/** What a rule would delete. */
const Sizes = {
  tenant_id: Id,
  records: Type.Integer({ description: 'How many there are', examples: [120] }),
  expired: Type.Integer({ description: 'How many of them are older', examples: [7] }),
};

const KindParams = Type.Object({ ...IdParams.properties, kind: Kind });
const PreviewQuery = Type.Object({
  ...pageQuery({ defaultLimit: 20 }).properties,
  keep: Keep,
  tenant_id: Type.Optional(Type.String({ maxLength: 100, description: 'Only this tenant' })),
});

const common = { access: access.governance(['ops:*', 'tenant:*']), tag: 'retention' } as const;
const ofTenant = '/admin/v1/tenants/{id}/retention';

/** Rules, by kind and tenant, for how long growing records are kept; a preview shows what a rule would delete. */
export function retentionRoutes(retention: RetentionAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/admin/v1/retention',
      summary:
        'List the kinds of records that grow without end, and how long tenants without rules of their own keep them',
      schema: { responses: { 200: Type.Object({ retention: Type.Array(CommonView) }) } },
      handle: async ({ identity }) => ({ retention: (await retention.list(identity)).map(toView) }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/admin/v1/retention/{kind}/preview',
      summary:
        'Count what would be deleted at this moment of records that are kept so long, tenant by tenant',
      schema: {
        params: Type.Object({ kind: Kind }),
        query: PreviewQuery,
        responses: {
          200: Type.Object({
            kind: Kind,
            keep: Keep,
            ...listOf('tenants', Type.Object(Sizes)).properties,
          }),
        },
      },
      refuse: refusing((_, { keep }) => keepProblems(keep, '/query/keep')),
      handle: async ({ identity, params: { kind }, query }) => {
        requireSound(keepProblems(query.keep, '/query/keep'));
        const keep = readKeep(query.keep);
        const page = pageOf(query, MAX_PREVIEWS);
        const asked = { keep, wanted: query.tenant_id };
        const { previews, total } = await retention.preview(identity, kind, asked, page);
        const tenants = previews.map(({ tenantId, ...sizes }) => ({ tenant_id: tenantId, ...sizes }));
        return { kind, keep: toKeep(keep), tenants, total, ...page };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: ofTenant,
      summary: 'List how long the records of a tenant are kept',
      schema: {
        params: IdParams,
        responses: {
          200: Type.Object({ tenant_id: Id, retention: Type.Array(RetentionView) }),
        },
      },
      handle: async ({ identity, params }) => ({
        tenant_id: params.id,
        retention: (await retention.list(identity, params.id)).map(toView),
      }),
    }),
    route({
      ...common,
      method: 'PUT',
      path: `${ofTenant}/{kind}`,
      summary: 'Set how long the records of a tenant are kept; what is older goes from `deletes_from` on',
      schema: {
        params: KindParams,
        body: Type.Object({ keep: Keep }, { additionalProperties: false }),
        responses: { 200: Type.Object({ ...RetentionView.properties, tenant_id: Id }) },
      },
      refuse: refusing(ruleProblems),
      handle: async (call) => {
        const { identity, params, body } = call;
        requireSound(ruleProblems(body));
        const keep = readKeep(body.keep);
        const set = await retention.set(identity, params.id, params.kind, keep);
        call.audit({ changes: { kind: params.kind, keep: toKeep(keep) } });
        return { tenant_id: params.id, ...toView(set) };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${ofTenant}/{kind}`,
      summary: 'Take the tenant back to what holds for tenants without a rule of their own',
      schema: { params: KindParams, responses: { 204: null } },
      handle: ({ identity, params }) => done(retention.reset(identity, params.id, params.kind)),
    }),
  ];
}

/** The problem of a `keep` at this place; of one that is no text its schema speaks. */
function keepProblems(keep: unknown, pointer: string): readonly FieldError[] {
  if (typeof keep !== 'string' || parseKeep(keep) !== undefined) return [];
  return [{ pointer, message: `must be a duration from 1h to 36500d, or ${FOREVER}` }];
}

const ruleProblems = ({ keep }: UnreadBody) => keepProblems(keep, '/body/keep');

/** The milliseconds of a `keep` without a problem; null is for good. */
const readKeep = (keep: string) => parseKeep(keep) ?? null;

/** Whole days as `90d`. */
function toKeep(keep: number | null): string {
  if (keep === null) return FOREVER;
  return keep % DAY_MS === 0 ? `${keep / DAY_MS}d` : formatDuration(keep);
}

function toView({
  kind,
  summary,
  keep,
  source,
  deletesFrom,
}: RetentionInForce): Static<typeof RetentionView> {
  return { kind, summary, keep: toKeep(keep), source, deletes_from: deletesFrom?.toISOString() ?? null };
}
