import { Readable } from 'node:stream';
import { access, Id, type Route, reply, route, TENANT_ADMINISTRATION, Timestamp, Type } from 'agent-gateway';
import type { DataProtection } from '../services/data-protection/data-protection.ts';
import type { CleanedUp } from '../services/data-protection/object-cleanup.ts';

/** The user whose data is meant; absent: the whole tenant. */
const UserQuery = Type.Object({
  user_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Only what belongs to this user: an identity, or a value of `X-Svc-User-Id`',
    }),
  ),
});

/** An export: these members, and an array for each kind of record. */
const Export = Type.Object(
  {
    tenant: Type.Object({
      id: Id,
      name: Type.String({ examples: ['Acme'] }),
      plan: Type.String({ examples: ['free'] }),
      created_at: Timestamp,
    }),
    user_id: Type.Union([Type.String(), Type.Null()]),
    exported_at: Timestamp,
    complete: Type.Literal(true, { description: 'The last member: the document is whole' }),
  },
  { additionalProperties: true },
);

const Deletion = Type.Object({
  deleted: Type.Record(Type.String(), Type.Integer(), {
    description: 'How many records of each kind',
    examples: [{ sessions: 2, messages: 8, memories: 1 }],
  }),
});

const Cleanup = Type.Object({
  deleted: Type.Integer({ examples: [2] }),
  bytes: Type.Integer({ examples: [4096] }),
  scanned: Type.Integer({ description: 'Objects that were looked at', examples: [12] }),
});

// A key for this work alone lists the scope `gdpr`; an administrator's general scopes do as well.
const common = { tag: 'data-protection' } as const;
const reading = access.role(TENANT_ADMINISTRATION, { scopes: ['read', 'gdpr'] });
const writing = access.role(TENANT_ADMINISTRATION, { scopes: ['write', 'gdpr'] });

/** Export, erasure and clean-up of personal data (specification 1, Data protection; decisions 1.5). */
export function dataProtectionRoutes(
  data: DataProtection,
  cleanUp: (tenantId: string, signal: AbortSignal) => Promise<CleanedUp>,
): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/gdpr/export',
      access: reading,
      summary: 'Export what is kept about the users of your tenant, as one JSON document that is streamed',
      schema: {
        query: UserQuery,
        responses: { 200: Export },
        answerHeaders: Type.Object({ 'content-disposition': Type.String() }),
      },
      answerType: 'application/json; charset=utf-8',
      handle: async (call) => {
        const { tenant, query, signal, log } = call;
        const text = await data.export(tenant, query.user_id, call, signal);
        const document = Readable.from(text, { objectMode: false });
        // The answer has begun: the connection is closed, so that no client takes a part for the whole.
        document.on('error', (err) => log.error({ err }, 'an export was broken off'));
        const name = `export-${tenant.id}${query.user_id === undefined ? '' : '-user'}.json`;
        return reply.stream(document, undefined, {
          'content-disposition': `attachment; filename="${name}"`,
          'cache-control': 'no-store',
        });
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/gdpr/data',
      access: writing,
      summary: 'Delete what is kept about the users of your tenant',
      schema: { query: UserQuery, responses: { 200: Deletion } },
      handle: async (call) => {
        call.audit({ hidden: ['user_id'] });
        const { deleted, pseudonym } = await data.erase(
          { tenantId: call.tenant.id, userId: call.query.user_id },
          call.signal,
        );
        const records = Object.values(deleted).reduce((sum, count) => sum + count, 0);
        call.audit({ changes: { records, pseudonym } });
        return { deleted };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/gdpr/cleanup-minio',
      access: writing,
      summary: 'Delete objects of your tenant to which nothing refers any more',
      schema: { responses: { 200: Cleanup } },
      handle: async (call) => {
        const done = await cleanUp(call.tenant.id, call.signal);
        call.audit({ changes: { deleted: done.deleted, bytes: done.bytes } });
        return done;
      },
    }),
  ];
}
