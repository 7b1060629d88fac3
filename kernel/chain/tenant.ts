import { type Admission, admit } from '../auth/admit.ts';
import { KernelErrors } from '../errors/catalogue.ts';
import type { Context, Stage } from '../http/stage.ts';
import type { Tenants } from '../tenancy/tenants.ts';

/** Binds the request to the credential's tenant. A tenant that is gone or deleted makes the credential worthless. */
export function tenant(tenants: Tenants): Stage {
  return function bindTenant(context, next) {
    const { identity, failure } = context.state;
    const admission = admit({ identity, failure }, tenants);
    if (!(admission instanceof Promise)) {
      bind(context, admission);
      return next();
    }
    return admission
      .then(
        (made) => bind(context, made),
        (cause: unknown) => {
          context.state.unavailable = KernelErrors.unavailable('The tenant cannot be read now', { cause });
        },
      )
      .then(next);
  };
}

function bind({ state }: Context, { identity, failure, tenant: record }: Admission): void {
  state.identity = identity;
  state.failure = failure;
  state.tenant = record;
}
