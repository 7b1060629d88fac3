import { type Route, route, Type } from 'agent-gateway';
import type { GeneExchange } from '../../evolution/contract.ts';
import { type Gate, HUB_LIMIT, readable } from './callers.ts';
import * as schemas from './schemas.ts';

/** Genes of one answer. */
const MAX_RESULTS = 1_000;
const tag = 'hub-genes';

/** Genes of all nodes, and those of this gateway as a node. */
export function federationRoutes({ load }: Gate, exchange: GeneExchange | undefined): readonly Route[] {
  return [
    route({
      ...readable,
      method: 'GET',
      path: '/api/v1/federation/genes',
      tag,
      rateLimit: HUB_LIMIT,
      summary: 'Search the genes of all healthy nodes',
      schema: {
        query: Type.Object({
          ...schemas.GeneQuerySchema.properties,
          limit: Type.Integer({ minimum: 1, default: MAX_RESULTS }),
        }),
        responses: { 200: schemas.Found },
      },
      handle: async ({ query, signal }) => {
        const { q, task_class: taskClass, min_confidence: minConfidence, limit } = query;
        const { search } = await load();
        const found = await search({ q, taskClass, minConfidence }, Math.min(limit, MAX_RESULTS), signal);
        return { results: found.results, nodes_queried: found.queried, nodes_healthy: found.healthy };
      },
    }),
    route({
      ...readable,
      method: 'GET',
      path: '/api/v1/genes',
      tag,
      rateLimit: HUB_LIMIT,
      summary: 'List the genes that tenants of this gateway share',
      description: 'What hubs ask of this gateway as a node; the sharing policies say what is in it.',
      schema: {
        query: schemas.GeneQuerySchema,
        responses: { 200: Type.Object({ genes: Type.Array(schemas.Gene) }) },
      },
      handle: async ({ query }) => {
        const { q, task_class: taskClass, min_confidence: minConfidence } = query;
        const text = q === '' ? undefined : q;
        return { genes: (await exchange?.published({ text, taskClass, minConfidence })) ?? [] };
      },
    }),
  ];
}
