import { access, type Route, reply, route } from 'agent-gateway';
import type { EvolutionSettings } from '../config.ts';
import type { FederatedSearch } from '../services/exchange/federated-search.ts';
import type { Decision, GeneDesk } from '../services/genes/gene-desk.ts';
import * as schemas from './gene-schemas.ts';

const BASE = '/api/v2/admin/evolution';
/** Since when, and until when, `/api/v1` is a deprecated alias of `/api/v2`. */
const DEPRECATED = {
  since: new Date('2026-01-01T00:00:00Z'),
  sunset: new Date('2028-01-01T00:00:00Z'),
  successor: '/api/v2',
};
const admins = { access: access.role('admin'), tag: 'evolution' } as const;

const DECISIONS: Readonly<Record<'promote' | 'quarantine' | 'revoke', readonly [Decision, string]>> = {
  promote: ['promoted', 'Promote a gene, whatever the rule says: it is recommended, and may be shared'],
  quarantine: ['quarantined', 'Quarantine a gene: agents no longer get it'],
  revoke: ['revoked', 'Revoke a gene for good: what it says does not come back from elsewhere'],
};

/** A requested limit above 100 counts as 100. */
const atMost = (limit: number) => Math.min(limit, schemas.MAX_GENES);

/** The routes for genes, and for administrators' decisions about them (specification 3; decisions 3.5). */
export function geneRoutes(parts: {
  readonly desk: GeneDesk;
  readonly federatedSearch: FederatedSearch;
  /** Whether there is a hub. */
  readonly isFederated: boolean;
  readonly settings: EvolutionSettings;
  readonly onServed: (recommendations: number) => void;
}): readonly Route[] {
  const { desk, federatedSearch, isFederated, settings, onServed } = parts;
  const { enabled } = settings;

  const stats = route({
    ...admins,
    method: 'GET',
    path: `${BASE}/stats`,
    summary: 'What agents of the tenant have learned, and what advice brings',
    schema: { responses: { 200: schemas.Stats } },
    handle: async ({ identity: { tenantId } }) => {
      const [totals, uplift] = await Promise.all([desk.totals(tenantId), desk.uplift(tenantId)]);
      return {
        enabled,
        mode: isFederated ? 'federated' : 'local',
        sender_id: settings.sender_id,
        min_confidence: settings.min_confidence,
        max_suggestions: settings.max_suggestions,
        total_genes: totals.count,
        avg_confidence: totals.count === 0 ? 0 : totals.confidence / totals.count,
        success_rate: totals.uses === 0 ? 0 : totals.successes / totals.uses,
        uplift,
      };
    },
  });

  const list = route({
    ...admins,
    method: 'GET',
    path: `${BASE}/genes`,
    summary: 'List what agents of the tenant have learned, most trusted first',
    schema: { query: schemas.GenesQuery, responses: { 200: schemas.Genes } },
    handle: async ({ identity, query: { q, min_confidence, state, limit } }) => {
      const filter = { text: q, minConfidence: min_confidence, state, limit: atMost(limit) };
      const [genes, total] = await desk.list(identity.tenantId, filter);
      return { enabled, genes: genes.map(schemas.toItem), total };
    },
  });

  const decisions = Object.entries(DECISIONS).map(([action, [decision, summary]]) =>
    route({
      ...admins,
      method: 'POST',
      path: `${BASE}/genes/{id}/${action}`,
      summary,
      bodyOptional: true,
      schema: {
        params: schemas.GeneParams,
        body: schemas.Decide,
        responses: { 200: schemas.decidedGene(decision) },
      },
      failures: ['not-found', 'conflict'],
      handle: async (call) => {
        const { reason = '' } = call.body;
        const { before, after } = await desk.decide(call.identity.tenantId, call.params.id, decision, reason);
        call.audit({
          changes: {
            gene: after.id,
            component: after.component,
            task_class: after.taskClass,
            reason,
            state_from: before.state,
            state_to: after.state,
          },
        });
        return reply.json(200, schemas.toGene(after, settings.sender_id));
      },
    }),
  );

  return [
    stats,
    { ...stats, path: stats.path.replace('/v2/', '/v1/'), deprecated: DEPRECATED },
    list,
    { ...list, path: list.path.replace('/v2/', '/v1/'), deprecated: DEPRECATED },
    route({
      ...admins,
      method: 'GET',
      path: `${BASE}/genes/{id}`,
      summary: 'Read a gene with its evidence',
      schema: { params: schemas.GeneParams, responses: { 200: schemas.Gene } },
      failures: ['not-found'],
      handle: async ({ identity, params }) =>
        schemas.toGene(await desk.get(identity.tenantId, params.id), settings.sender_id),
    }),
    ...decisions,
    route({
      ...admins,
      method: 'POST',
      path: `${BASE}/recommend`,
      summary: 'The advice that agents would get for a task: promoted genes that fit it',
      schema: { body: schemas.Recommend, responses: { 200: schemas.Recommendations } },
      handle: async ({ identity, body }) => {
        if (!enabled) return { enabled, recommendations: [] };
        const genes = await desk.recommend(identity.tenantId, {
          query: body.query,
          agent: body.agent_name,
          minConfidence: body.min_confidence ?? settings.min_confidence,
          limit: atMost(body.limit ?? Math.max(1, settings.max_suggestions)),
        });
        onServed(genes.length);
        return { enabled, recommendations: genes.map(schemas.toItem) };
      },
    }),
    route({
      ...admins,
      method: 'GET',
      path: `${BASE}/federated`,
      summary: 'Search the genes of others in the hub, and take what is new; empty without a hub',
      description: 'Also empty for a tenant whose sharing policy takes nothing.',
      schema: { query: schemas.FederatedQuery, responses: { 200: schemas.Federated } },
      failures: ['upstream'],
      handle: async ({ identity: { tenantId }, query: { q, limit }, signal }) => {
        if (!enabled) return { enabled, genes: [], total: 0, imported: 0 };
        const { genes, imported } = await federatedSearch(tenantId, q, signal);
        return {
          enabled,
          genes: genes.slice(0, atMost(limit)).map(schemas.toItem),
          total: genes.length,
          imported,
        };
      },
    }),
  ];
}
