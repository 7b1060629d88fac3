import {
  AnyId,
  type ApiKeyStore,
  AuthErrors,
  access,
  type Clock,
  DEFAULT_TENANT_ID,
  Id,
  type KernelServices,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
  Type,
  withExample,
} from 'agent-gateway';
import { expiryProblems, writtenExpiryProblems } from '../services/key-administration.ts';
import { CreatedKey, ExpiresAt, KEY_HEADERS, keyChanges, toCreatedKey, toExpiry } from './api-keys.ts';
import { Name } from './common.ts';

/** Name of the first key where the request has none. */
const FIRST_KEY = 'bootstrap';
const FIRST_GRANT = { name: FIRST_KEY, roles: ['admin'], scopes: ['read', 'write', 'execute', 'admin'] };

/** The first administrator key of a deployment (specification 1, Bootstrap; decisions 1.3). */
export function bootstrapRoutes(apiKeys: ApiKeyStore, clock: Clock): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/admin/v1/bootstrap/status',
      access: access.public(),
      summary: 'Whether the default tenant still needs its first administrator key',
      tag: 'bootstrap',
      schema: { responses: { 200: Type.Object({ bootstrap_required: Type.Boolean() }) } },
      handle: async () => ({ bootstrap_required: !(await apiKeys.hasUsableAdmin(DEFAULT_TENANT_ID)) }),
    }),
    route({
      method: 'POST',
      path: '/admin/v1/bootstrap',
      // Public, so that wrong tokens count against the route's own limit; the handler takes the static token alone.
      access: access.public(),
      rateLimit: 'bootstrap',
      bodyOptional: true,
      failures: ['unauthenticated', 'forbidden'],
      summary: 'Make the first administrator key, with the static token',
      tag: 'bootstrap',
      schema: {
        body: Type.Object({
          name: Type.Optional(Type.String({ ...Name, examples: [FIRST_KEY] })),
          expires_at: ExpiresAt,
        }),
        responses: { 201: withExample(CreatedKey, FIRST_GRANT) },
      },
      refuse: refusing(({ expires_at: expiry }) => writtenExpiryProblems(expiry, clock.now())),
      handle: async (call) => {
        const { identity, body } = call;
        if (identity.method !== 'static_token') {
          throw AuthErrors.required('Only the static token (SVC_ACP_TOKEN) may do this.');
        }
        const expiresAt = toExpiry(body.expires_at);
        requireSound(expiryProblems(expiresAt, clock.now()));
        const created = await apiKeys.bootstrap({ name: body.name ?? FIRST_KEY, expiresAt });
        call.audit({ changes: keyChanges(created) });
        return reply.created(toCreatedKey(created), KEY_HEADERS);
      },
    }),
  ];
}

/** The identity of the caller's credential (specification 1, Identity context); for every credential. */
export const meRoute: Route = route({
  method: 'GET',
  path: '/v1/me',
  access: access.authenticated(),
  summary: 'Who the credential belongs to and what it may do',
  tag: 'identity',
  schema: {
    responses: {
      200: Type.Object({
        identity: Type.String({ ...AnyId, description: 'User id or API key id' }),
        tenant_id: Id,
        roles: Type.Array(Type.String({ examples: ['user'] })),
        scopes: Type.Array(Type.String(), {
          description: 'Those of the credential and of its roles',
          examples: [['read', 'write', 'execute']],
        }),
        auth_method: Type.String({ examples: ['api_key'] }),
      }),
    },
  },
  handle: ({ identity }) => ({
    identity: identity.id,
    tenant_id: identity.tenantId,
    roles: identity.roles,
    scopes: [...identity.scopes],
    auth_method: identity.method,
  }),
});

/** The description of the routes that are live now, for every credential (specification 1, OpenAPI; decisions 0.6). */
export function openApiRoute({ openapi }: Pick<KernelServices, 'openapi'>): Route {
  return route({
    method: 'GET',
    path: '/v1/openapi',
    access: access.authenticated(),
    summary: 'The OpenAPI 3.0 document of this gateway',
    tag: 'openapi',
    schema: {
      responses: {
        200: Type.Object(
          {
            openapi: Type.Literal('3.0.3'),
            info: Type.Object({
              title: Type.String(),
              version: Type.String(),
              description: Type.Optional(Type.String()),
            }),
            paths: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
          },
          {
            additionalProperties: true,
            examples: [{ openapi: '3.0.3', info: { title: 'Agent gateway', version: '2.4.0' }, paths: {} }],
          },
        ),
      },
    },
    handle: () => openapi(),
  });
}
