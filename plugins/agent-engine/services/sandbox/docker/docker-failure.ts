import { GatewayError } from 'agent-gateway';
import { SandboxErrors } from '../../../contract.ts';

/** True where the engine has no such container. */
export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404;
}

/**
 * The engine's failure as `sandbox.unavailable`, which says what an operator can do. What the engine said is in the cause.
 *
 * @param wantedImage the image, while the container is still to be created: only then is a 404 about it
 */
export function dockerFailure(error: unknown, wantedImage: string | undefined): GatewayError {
  if (error instanceof GatewayError) return error;
  const extras = { cause: error };
  const status = statusOf(error);
  if (status === undefined)
    return SandboxErrors.unavailable('the Docker engine does not answer; is DOCKER_HOST right?', extras);
  if (status === 404 && wantedImage !== undefined) {
    return SandboxErrors.unavailable(
      `the Docker engine lacks the image ${wantedImage}; the gateway pulls none, so pull it there`,
      extras,
    );
  }
  return SandboxErrors.unavailable(`the Docker engine failed with status ${status}`, extras);
}

function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}
