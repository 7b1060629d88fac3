import { access, type Route, route } from 'agent-gateway';
import Type from 'typebox';

/** Who is calling, as the credential says (specification 1, Identity context); for every credential. */
export const meRoute: Route = route({
  method: 'GET',
  path: '/v1/me',
  access: access.authenticated(),
  summary: 'Who the credential belongs to and what it may do',
  tag: 'identity',
  schema: {
    responses: {
      200: Type.Object({
        identity: Type.String({ description: 'User id or API key id' }),
        tenant_id: Type.String(),
        roles: Type.Array(Type.String()),
        scopes: Type.Array(Type.String(), { description: 'Those of the credential and of its roles' }),
        auth_method: Type.String(),
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
