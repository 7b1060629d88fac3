import { access, definePlugin, reply, route, Type } from 'agent-gateway';
import { type Tool, ToolsPoint } from '../../../../../plugins/agent-engine/contract.ts';
import { GeneExchangeRef } from '../../../../../plugins/evolution/contract.ts';
import { GeneTable, LearnerTable, TaskTable } from '../../../../../plugins/evolution/store/tables.ts';

const NAMES = ['alpha', 'beta', 'gamma', 'delta'];
const operators = { access: access.role('admin'), tag: 'world' } as const;

/** The tools of the world, which work or fail as their argument says, and routes that show what was learned. */
export default definePlugin({
  name: 'world',
  summary: 'The tools of a simulated world, for the benchmark of evolution',
  kernel: '^1.0.0',
  needs: { exchange: GeneExchangeRef },
  setup(scope, { exchange }) {
    const { database } = scope.services;
    const tools = NAMES.map(
      (name): Tool => ({
        ref: `plugin/world/${name}`,
        name,
        description: `Does the work in the way of ${name}`,
        parameters: { type: 'object', properties: { works: { type: 'boolean' } } },
        invoke: async ({ works }) => ({ content: works === true ? 'ok' : 'failed', isError: works !== true }),
      }),
    );
    scope.contribute(ToolsPoint, { prefix: 'plugin/world/', list: () => tools });
    scope.route(
      route({
        ...operators,
        method: 'GET',
        path: '/bench/pending',
        summary: 'How many runs are recorded, and how many of them wait to be distilled',
        schema: { responses: { 200: Type.Object({ pending: Type.Integer() }) } },
        handle: async ({ identity }) => ({
          pending: await database.forTenant(identity.tenantId).count(TaskTable, { isCounted: false }),
        }),
      }),
      route({
        ...operators,
        method: 'GET',
        path: '/bench/known',
        summary: 'The classes and genes of all agents',
        schema: { responses: { 200: Type.Unknown() } },
        handle: async ({ identity }) => {
          const entities = database.forTenant(identity.tenantId);
          const fields = [
            'agentName',
            'taskClass',
            'component',
            'confidence',
            'source',
            'validation',
          ] as const;
          const learners = await entities.rows(
            LearnerTable,
            {},
            { fields: ['agentName', 'classes'], limit: 1_000 },
          );
          const genes = await entities.rows(GeneTable, {}, { fields: [...fields], limit: 100_000 });
          return reply.json(200, { learners, genes });
        },
      }),
      route({
        ...operators,
        method: 'POST',
        path: '/bench/offer',
        summary: 'Offers genes of a neighbour',
        schema: {
          body: Type.Object({ genes: Type.Array(Type.Unknown()) }),
          responses: { 200: Type.Unknown() },
        },
        handle: async ({ identity, body }) =>
          reply.json(200, await exchange.offer(identity.tenantId, body.genes)),
      }),
    );
  },
});
