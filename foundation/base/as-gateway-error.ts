import { KernelErrors } from './error-catalogue.ts';
import { GatewayError } from './gateway-error.ts';

/**
 * Whatever was thrown, as an error that may be shown. A thing that is not ours becomes `internal` with a fixed text; the
 * original stays in `cause`, for the log alone.
 */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return KernelErrors.internal(undefined, { cause: thrown });
}
