import { type Identity, REJECTED } from '../access/identity.ts';
import { isLive, type TenantRecord, type Tenants } from '../tenancy/tenants.ts';
import type { AuthenticationResult } from './chain.ts';

/** A caller and its tenant; `tenant` is `undefined` for anonymous and rejected callers. */
export interface Admission extends AuthenticationResult {
  readonly tenant: TenantRecord | undefined;
}

/**
 * Looks up the tenant of an identified caller. A credential whose tenant is missing or deleted has failed like a wrong
 * one; the failure keeps its identity. No promise when the tenant is at hand.
 */
export function admit(
  result: AuthenticationResult,
  tenants: Pick<Tenants, 'get'>,
): Admission | Promise<Admission> {
  const { identity, failure } = result;
  if (identity.tenantId === '') return { identity, failure, tenant: undefined };
  const tenant = tenants.get(identity.tenantId);
  return tenant instanceof Promise
    ? tenant.then((found) => conclude(identity, found))
    : conclude(identity, tenant);
}

function conclude(identity: Identity, tenant: TenantRecord | undefined): Admission {
  if (isLive(tenant)) return { identity, tenant };
  return {
    identity: REJECTED,
    failure: {
      failure: 'tenant',
      tenantId: identity.tenantId,
      identityId: identity.id,
      authenticator: identity.method,
    },
    tenant: undefined,
  };
}
