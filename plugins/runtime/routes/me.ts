import { AnyId, access, Id, route, Type } from 'agent-gateway';

const Me = Type.Object({
  id: Type.String({ ...AnyId, description: 'The identity of the credential' }),
  tenant_id: Id,
  roles: Type.Array(Type.String({ examples: ['admin'] })),
  scopes: Type.Array(Type.String(), { examples: [['admin', 'execute', 'read', 'write']] }),
  auth_method: Type.String({ examples: ['api_key'] }),
});

/** The caller's identity; for administrators only, as the specification demands. */
export const meRoute = route({
  method: 'GET',
  path: '/me',
  access: access.role('admin'),
  tag: 'administration',
  summary: 'Read who is calling',
  schema: { responses: { 200: Me } },
  handle: ({ identity: { id, tenantId, roles, scopes, method } }) => ({
    id,
    tenant_id: tenantId,
    roles,
    scopes: [...scopes].sort(),
    auth_method: method,
  }),
});
