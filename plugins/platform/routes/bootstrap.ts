import {
  type ApiKeyStore,
  AuthErrors,
  access,
  type Clock,
  DEFAULT_TENANT_ID,
  KernelErrors,
  type Route,
  reply,
  route,
} from 'agent-gateway';
import Type from 'typebox';
import { expiryProblems } from '../services/key-rules.ts';
import { CreatedKey, ExpiresAt, KEY_HEADERS, toCreatedKey, toExpiry } from './schemas/api-key.ts';
import { Name } from './schemas/common.ts';

/** Name of the first key when nobody gives it one. */
const FIRST_KEY = 'bootstrap';

/** The first administrator key of a deployment (specification 1, Bootstrap; decisions 1.3). */
export function bootstrapRoutes({
  apiKeys,
  clock,
}: {
  apiKeys: ApiKeyStore;
  clock: Clock;
}): readonly Route[] {
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
      summary: 'Make the first administrator key, with the static token',
      tag: 'bootstrap',
      schema: {
        body: Type.Object({ name: Type.Optional(Name), expires_at: ExpiresAt }),
        responses: { 201: CreatedKey },
      },
      handle: async ({ identity, body }) => {
        if (identity.method !== 'static_token') {
          throw AuthErrors.required('Only the static token (SVC_ACP_TOKEN) may do this.');
        }
        const expiresAt = toExpiry(body.expires_at);
        const errors = expiryProblems(expiresAt, clock.now());
        if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
        const created = await apiKeys.bootstrap({ name: body.name ?? FIRST_KEY, expiresAt });
        return reply.created(toCreatedKey(created), KEY_HEADERS);
      },
    }),
  ];
}
