import { DEFAULT_TENANT_ID, type Identity } from '../../../../kernel/access/identity.ts';
import { effectiveScopes } from '../../../../kernel/access/roles.ts';

export const OTHER_TENANT = '0197a000-0000-7000-8000-000000000002';
export const THIRD_TENANT = '0197a000-0000-7000-8000-000000000003';

/** A caller of a tenant, with what a key of these roles and scopes may do. */
export function caller(tenantId: string, roles: readonly string[], scopes: readonly string[] = []): Identity {
  return { id: 'caller', tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' };
}

/** The callers whose reach differs, by what they are. */
export const CALLERS = {
  'operator admin': caller(DEFAULT_TENANT_ID, ['admin']),
  'operator with role tenant': caller(DEFAULT_TENANT_ID, ['tenant']),
  'owner of the default tenant': caller(DEFAULT_TENANT_ID, ['owner']),
  'user of the default tenant': caller(DEFAULT_TENANT_ID, ['user']),
  'admin of another tenant': caller(OTHER_TENANT, ['admin'], ['read', 'write', 'execute', 'admin']),
  'owner of another tenant': caller(OTHER_TENANT, ['owner']),
  'tenant role of another tenant': caller(OTHER_TENANT, ['tenant']),
} as const;

export type CallerName = keyof typeof CALLERS;
