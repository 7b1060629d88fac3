import { access, pageOf, pageQuery, type Route, reply, route } from 'agent-gateway';
import { type Memories, MemoryErrors } from '../../records/contract.ts';
import { listOf } from './schemas/common.ts';
import { KeyParams, MemoryBody, MemorySchema, NewKeyParams, toMemory } from './schemas/memory.ts';
import { userOf } from './user-of.ts';

const MAX_PAGE = 500;
const common = { access: access.role('user'), tag: 'memories' } as const;

/** Long-term memories of the user that `X-Svc-User-Id` names (specification 1, Memories; decisions 1.7). */
export function memoryRoutes(memories: Memories): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/memories',
      summary: 'List the memories of a user, the last written first',
      schema: {
        query: pageQuery({ defaultLimit: 50 }),
        responses: { 200: listOf('memories', MemorySchema) },
      },
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        const found = await memories.list(call.entities(), userOf(call), page);
        return { memories: found.memories.map(toMemory), total: found.total, ...page };
      },
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/v1/memories/{key}',
      summary: 'Remember a value under a key, over the one that is there',
      schema: { params: NewKeyParams, body: MemoryBody, responses: { 200: MemorySchema } },
      handle: async (call) => {
        const memory = { key: call.params.key, value: call.body.value };
        return toMemory(await memories.save(call.entities(), userOf(call), memory));
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/memories/{key}',
      summary: 'Forget a memory',
      schema: { params: KeyParams, responses: { 204: null } },
      handle: async (call) => {
        if (!(await memories.forget(call.entities(), userOf(call), call.params.key))) {
          throw MemoryErrors.notFound();
        }
        return reply.empty();
      },
    }),
  ];
}
