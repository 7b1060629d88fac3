import {
  BatchV1Api,
  type ConfigurationOptions,
  CoreV1Api,
  type KubeConfig,
  Observable,
  type V1ConfigMap,
  type V1Job,
  type V1Pod,
  Watch,
} from '@kubernetes/client-node';
import { GatewayError } from 'agent-gateway';
import { SandboxErrors } from '../../contract.ts';

const CALL_MS = 10_000;
const MOST_JOBS = 500;
/** Milliseconds before a watch that was closed is opened again. */
const REWATCH_MS = 1000;

/** The few calls that the sandbox makes, in one namespace; each has a deadline. They throw what the client throws. */
export type KubernetesApi = ReturnType<typeof createKubernetesApi>;

/** The API of the cluster that a kubeconfig, or the pod's own service account, names. */
export function createKubernetesApi(config: KubeConfig, namespace: string) {
  const batch = config.makeApiClient(BatchV1Api);
  const core = config.makeApiClient(CoreV1Api);
  return {
    /** Returns the job's uid. */
    async createJob(body: V1Job): Promise<string> {
      const { metadata } = await batch.createNamespacedJob({ namespace, body }, withDeadline());
      return metadata!.uid!;
    },
    async createConfigMap(body: V1ConfigMap): Promise<void> {
      await core.createNamespacedConfigMap({ namespace, body }, withDeadline());
    },
    /** Deletes the job, and in the background what it owns. One that is gone is fine. */
    async deleteJob(name: string): Promise<void> {
      const how = { propagationPolicy: 'Background', gracePeriodSeconds: 0 };
      try {
        await batch.deleteNamespacedJob({ namespace, name, ...how }, withDeadline());
      } catch (error) {
        if (apiStatus(error) !== 404) throw error;
      }
    },
    /** Up to 500 jobs. */
    async listJobs(labelSelector: string): Promise<readonly V1Job[]> {
      const filter = { namespace, labelSelector, limit: MOST_JOBS };
      return (await batch.listNamespacedJob(filter, withDeadline())).items;
    },
    async listPods(labelSelector: string): Promise<readonly V1Pod[]> {
      return (await core.listNamespacedPod({ namespace, labelSelector, limit: 10 }, withDeadline())).items;
    },
    /** The log of the pod's container, so many bytes at most. */
    podLog: (name: string, limitBytes: number): Promise<string> =>
      core.readNamespacedPodLog({ namespace, name, container: 'code', limitBytes }, withDeadline()),
    /**
     * Calls `onChange` for changes to these pods, until `close`. It may miss some, and may stop altogether: poll as
     * well.
     */
    watchPods: (labelSelector: string, onChange: () => void) =>
      keepWatching(new Watch(config), `/api/v1/namespaces/${namespace}/pods`, labelSelector, onChange),
  };
}

/** The status of an answer that was no success. Undefined where there was no answer. */
function apiStatus(error: unknown): number | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  // An abort has a number of its own in `code`: it is no status.
  return typeof code === 'number' && code >= 100 ? code : undefined;
}

function keepWatching(watch: Watch, path: string, labelSelector: string, onChange: () => void) {
  let isClosed = false;
  let current: AbortController | undefined;
  let timer: NodeJS.Timeout | undefined;
  const open = async () => {
    try {
      const opened = await watch.watch(path, { labelSelector }, onChange, () => {
        if (!isClosed) timer = setTimeout(() => void open(), REWATCH_MS);
      });
      if (isClosed) opened.abort();
      else current = opened;
    } catch {
      // A watch only makes polling faster: without it the pod is polled all the same, and a failure shows there.
    }
  };
  void open();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
      current?.abort();
    },
  };
}

/** The client knows no timeout of its own. */
function withDeadline(): ConfigurationOptions {
  const signal = AbortSignal.timeout(CALL_MS);
  return {
    middlewareMergeStrategy: 'append',
    middleware: [
      {
        pre(request) {
          request.setSignal(signal);
          return new Observable(Promise.resolve(request));
        },
        post: (response) => new Observable(Promise.resolve(response)),
      },
    ],
  };
}

/**
 * The API's failure as `sandbox.unavailable`, which says what an operator can do. What the API said is in the cause.
 */
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
