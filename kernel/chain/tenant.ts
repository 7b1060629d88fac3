import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { type Admission, admit } from '../auth/admit.ts';
import type { Tenants } from '../tenancy/tenants.ts';
import type { CallState } from './call-state.ts';
import type { Middleware } from './request-state.ts';

/** Binds a call to the credential's tenant. Never throws or rejects; no promise when the tenant is at hand. */
export type BindTenant = (state: CallState) => void | Promise<void>;

/** A tenant that is gone or deleted makes the credential worthless. */
export function createBindTenant(tenants: Pick<Tenants, 'get'>): BindTenant {
  return function bindTenant(state) {
    const { identity, failure } = state;
    const admission = admit({ identity, failure }, tenants);
    if (!(admission instanceof Promise)) return bind(state, admission);
    return admission.then(
      (made) => bind(state, made),
      (cause: unknown) => {
        state.unavailable = KernelErrors.unavailable('The tenant cannot be read now', { cause });
      },
    );
  };
}

function bind(state: CallState, { identity, failure, tenant: record }: Admission): void {
  state.identity = identity;
  state.failure = failure;
  state.tenant = record;
}

/** Binds the request to its tenant. */
export function tenant(bindTenant: BindTenant): Middleware {
  return function bindRequest(context, next) {
    const bound = bindTenant(context.state);
    return bound === undefined ? next() : bound.then(next);
  };
}
