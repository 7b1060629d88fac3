import {
  access,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import { type Memories, MemoryErrors, ProfileErrors, type Profiles, userOf } from '../../records/contract.ts';
import { done, MARKDOWN, MarkdownBody, MarkdownText } from './common.ts';

/** A memory as clients see it (specification 1, Memory entry). */
const MemorySchema = Type.Object({
  key: Type.String({ examples: ['tea'] }),
  value: Type.String({ examples: ['Likes green tea'] }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** The `{key}` of a path. A text that cannot be a key is unknown, not malformed: 404. */
const KeyParams = Type.Object({ key: Type.String() });

/** The `{key}` of a memory that is written. */
const NewKeyParams = Type.Object({
  key: Type.String({
    pattern: '^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]{1,128}$',
    patternErrorMessage: 'must have 1 to 128 characters, without control characters, and be neither . nor ..',
    description: '1 to 128 characters, percent-encoded; no control characters, neither . nor ..',
  }),
});

/** The text of a memory. */
const MemoryBody = Type.Object({
  value: Type.String({ minLength: 1, maxLength: 8192, examples: ['Likes green tea'] }),
});

const toMemory = toWire(MemorySchema);
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
        const page = pageOf(call.query);
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

const profile = { access: access.role('user'), path: '/v1/profile', tag: 'memories' } as const;
const MAX_PROFILE_BYTES = 16 * 1024;

/** The profile that the user named by `X-Svc-User-Id` has written. */
export function profileRoutes(profiles: Profiles): readonly Route[] {
  return [
    route({
      ...profile,
      method: 'GET',
      summary: 'Read the profile of a user',
      answerType: MARKDOWN,
      failures: ['not-found'],
      schema: { responses: { 200: MarkdownText } },
      handle: async (call) => {
        const text = await profiles.read(call.entities(), userOf(call));
        if (text === undefined) throw ProfileErrors.notFound();
        return reply.text(text);
      },
    }),
    route({
      ...profile,
      method: 'PUT',
      summary: 'Replace the profile of a user; an empty body removes it',
      schema: { body: MarkdownBody, responses: { 204: null } },
      bodyType: 'text',
      bodyOptional: true,
      bodyLimit: MAX_PROFILE_BYTES,
      handle: (call) => done(profiles.write(call.entities(), userOf(call), call.body)),
    }),
  ];
}
