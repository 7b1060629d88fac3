import { GatewayError } from 'agent-gateway';
import { SandboxErrors } from '../../../contract.ts';
import { apiStatus } from './kubernetes-api.ts';

/** The API's failure as `sandbox.unavailable`, which says what an operator can do. What the API said is in the cause. */
export function kubernetesFailure(error: unknown, namespace: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const extras = { cause: error };
  const status = apiStatus(error);
  if (status === undefined) return SandboxErrors.unavailable('the Kubernetes API does not answer', extras);
  if (status === 401 || status === 403) {
    return SandboxErrors.unavailable(
      `Kubernetes does not let the gateway make jobs in the namespace ${namespace}, or its quota is used up`,
      extras,
    );
  }
  if (status === 404) return SandboxErrors.unavailable(`Kubernetes has no namespace ${namespace}`, extras);
  return SandboxErrors.unavailable(`Kubernetes refused the job with status ${status}`, extras);
}

/** A pod that never began, as `sandbox.unavailable`. */
export function podFailure(reason: string): GatewayError {
  const isImage = /image/i.test(reason);
  return SandboxErrors.unavailable(
    `the pod could not start: ${reason}${isImage ? '; the cluster cannot pull the image of this language' : ''}`,
  );
}
