import {
  access,
  type Call,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  route,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import { CHANNEL_SESSION } from '../../channels/contract.ts';
import {
  isTenantAdmin,
  type Memories,
  type Memory,
  MemoryErrors,
  metadataProblems,
} from '../../records/contract.ts';

/** Results of a search at most. */
const MAX_RESULTS = 100;

/** An entry as clients see it (specification 3, Long-term memory entry). */
const MemorySchema = Type.Object({
  id: Id,
  user_id: Type.String({ examples: ['anna'] }),
  content: Type.String({ examples: ['Likes green tea'] }),
  metadata: Type.Record(Type.String(), Type.Unknown(), { examples: [{ source: 'chat' }] }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const Wrapped = Type.Object({ memory: MemorySchema });

const MemoryList = Type.Object({
  user_id: Type.String({ examples: ['anna'] }),
  ...listOf('memories', MemorySchema).properties,
});

const SearchResults = Type.Object({
  user_id: Type.String({ examples: ['anna'] }),
  query: Type.String({ examples: ['green tea'] }),
  results: Type.Array(
    Type.Object({
      id: Id,
      content: MemorySchema.properties.content,
      metadata: MemorySchema.properties.metadata,
      score: Type.Number({ description: '0 to 1', examples: [0.875] }),
    }),
  ),
  total: Type.Integer(),
});

const UserId = Type.String({
  pattern: '^[^\\p{Cc}\\p{Cs}]{1,255}$',
  patternErrorMessage: 'must have 1 to 255 characters, without control characters',
  examples: ['anna'],
});

const Content = Type.String({ minLength: 1, maxLength: 8192, examples: ['Likes green tea'] });
const Metadata = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), { description: '8192 characters at most as JSON' }),
);

/** Of a body without other problems the service says so, as `memory.invalid`. */
const refuse = refusing(({ metadata }) => metadataProblems(metadata, '/body/metadata'));

const write = toWire(MemorySchema);
const toMemory = ({ value: content, ...memory }: Memory) => write({ ...memory, content });

const tag = 'long-term-memory';
const readers = { tag, access: access.open(['read']) } as const;
const writers = { tag, access: access.open(['write']) } as const;
const PATH = '/memory/long-term';

/** Long-term memory of users, found by meaning (specification 3, v2 HTTP API; decisions 3.2). */
export function longTermMemoryRoutes(memories: Memories): readonly Route[] {
  return [
    route({
      ...readers,
      method: 'GET',
      path: PATH,
      summary: 'List the memories of a user, the last written first',
      schema: {
        query: Type.Object({ user_id: UserId, ...pageQuery({ defaultLimit: 50 }).properties }),
        responses: { 200: MemoryList },
      },
      handle: async (call) => {
        const { user_id } = call.query;
        requireUser(call, user_id);
        const page = pageOf(call.query);
        const found = await memories.list(call.entities(), user_id, page);
        return { user_id, memories: found.memories.map(toMemory), total: found.total, ...page };
      },
    }),
    route({
      ...writers,
      method: 'POST',
      path: PATH,
      summary: 'Remember something of a user',
      schema: {
        body: Type.Object({ user_id: UserId, content: Content, metadata: Metadata }),
        responses: { 201: Wrapped },
      },
      refuse,
      handle: async (call) => {
        const { user_id, content, metadata } = call.body;
        requireUser(call, user_id);
        const memory = await memories
          .save(call.entities(), user_id, { value: content, metadata })
          .catch(rethrowAtBody);
        call.audit({ changes: { memory_id: memory.id } });
        return reply.created({ memory: toMemory(memory) });
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/search`,
      summary: 'Find the memories of a user that fit a text best',
      schema: {
        query: Type.Object({
          user_id: UserId,
          q: Type.String({ minLength: 1, maxLength: 2000 }),
          limit: Type.Integer({ minimum: 0, default: 10, description: 'At most 100' }),
          threshold: Type.Number({ minimum: 0, maximum: 1, default: 0.2, description: 'The least score' }),
        }),
        responses: { 200: SearchResults },
      },
      handle: async (call) => {
        // What is searched for is as personal as what is found, and audit records stay when the user is erased.
        call.audit({ hidden: ['q'] });
        const { user_id, q, limit, threshold } = call.query;
        requireUser(call, user_id);
        const wanted = { limit: Math.min(limit, MAX_RESULTS), threshold };
        const found = await memories.search(call.entities(), user_id, q, wanted);
        const results = found.map(({ id, value, metadata, score }) => ({
          id,
          content: value,
          metadata,
          score,
        }));
        return { user_id, query: q, results, total: results.length };
      },
    }),
    route({
      ...writers,
      method: 'PUT',
      path: `${PATH}/{id}`,
      summary: 'Replace the content of a memory; absent metadata stay as they are',
      schema: {
        params: IdParams,
        body: Type.Object({ content: Content, metadata: Metadata }),
        responses: { 200: Wrapped },
      },
      refuse,
      handle: async (call) => {
        const { id } = call.params;
        const { content, metadata } = call.body;
        const found = await memories.find(call.entities(), id);
        if (found === undefined) throw MemoryErrors.notFound();
        requireUser(call, found.userId);
        const changed = await memories
          .update(call.entities(), id, { value: content, metadata })
          .catch(rethrowAtBody);
        if (changed === undefined) throw MemoryErrors.notFound();
        call.audit({ changes: { memory_id: id } });
        return { memory: toMemory(changed) };
      },
    }),
    route({
      tag,
      access: access.role('admin'),
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Forget a memory',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        const { id } = call.params;
        const found = await memories.find(call.entities(), id);
        const isGone = found && (await memories.forget(call.entities(), found.userId, found.key));
        if (isGone !== true) throw MemoryErrors.notFound();
        call.audit({ changes: { memory_id: id, deleted: true } });
        return reply.empty();
      },
    }),
  ];
}

/** What the service finds wrong in a memory is in the body; any other error goes on as it is. */
function rethrowAtBody(error: unknown): never {
  if (!MemoryErrors.invalid.is(error)) throw error;
  const errors = (error.extras.errors ?? []).map((one) => ({ ...one, pointer: `/body${one.pointer}` }));
  throw MemoryErrors.invalid(error.detail, { errors });
}

/** Credentials of one person, and not of a backend that acts for many. */
const PERSONS: ReadonlySet<string> = new Set(['jwt', CHANNEL_SESSION]);

/**
 * Throws `memory.forbidden` where the caller is bound to another user: to the one that `X-Svc-User-Id` names, or to the
 * person behind the JWT or the channel session. Administrators, and callers that act for no user, such as a backend
 * with its key, reach all users of their tenant.
 */
function requireUser({ identity, userId }: Pick<Call, 'identity' | 'userId'>, wanted: string): void {
  if (isTenantAdmin(identity)) return;
  const bound = userId ?? (PERSONS.has(identity.method) ? identity.id : undefined);
  if (bound !== undefined && bound !== wanted) throw MemoryErrors.forbidden();
}
