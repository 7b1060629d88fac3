import { KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { orAborted } from 'agent-gateway';
import type { SandboxEnd } from '../../contract.ts';
import {
  type ContainerEngineOptions,
  type EngineRun,
  keepSweeping,
  LEFTOVER_MS,
  outOfMemory,
  type SandboxEngine,
} from './engine.ts';
import { createKubernetesApi, type KubernetesApi, kubernetesFailure, podFailure } from './kubernetes-api.ts';
import {
  codeManifest,
  DEADLINE_ANNOTATION,
  type JobPlan,
  jobManifest,
  jobName,
  loggedBytes,
  parseReport,
  podSelector,
  reportBytes,
  SANDBOX_SELECTOR,
} from './kubernetes-job.ts';

/** What the Kubernetes engine works with. */
export interface KubernetesEngineOptions extends ContainerEngineOptions {
  /** Undefined: the namespace of the kubeconfig's context, or of the gateway's own pod. */
  readonly namespace: string | undefined;
  /** Default: `KUBECONFIG`, `~/.kube/config`, or the service account of the gateway's own pod. */
  readonly config?: KubeConfig;
}

/** Milliseconds after which a pod is polled although no watch reported a change. */
const POLL_MS = 2000;
/** Polls that fail in a row before an execution is given up: one bad answer must not end code that runs. */
const MOST_FAILURES = 3;
/** The pod ends the code itself, and then reports; this is how long that may take. */
const GRACE_MS = 10_000;

/** Code in Kubernetes: a job each, made for it and deleted after it. */
export function openKubernetesEngine(options: KubernetesEngineOptions): SandboxEngine {
  const { images, allowNetwork, memoryBytes, startTimeoutMs, clock, ids, log } = options;
  const config = options.config ?? new KubeConfig();
  if (options.config === undefined) config.loadFromDefault();
  const namespace =
    options.namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  const api = createKubernetesApi(config, namespace);

  async function removeLeftovers(): Promise<number> {
    const jobs = await api.listJobs(SANDBOX_SELECTOR);
    const over = jobs.filter(
      ({ metadata }) => Number(metadata?.annotations?.[DEADLINE_ANNOTATION] ?? 0) < clock.now(),
    );
    for (const { metadata } of over) await api.deleteJob(metadata!.name!);
    return over.length;
  }

  async function run(engineRun: EngineRun): Promise<SandboxEnd> {
    const { job, stop } = engineRun;
    const runId = ids.opaque();
    const activeMs = startTimeoutMs + job.timeoutMs + GRACE_MS;
    const plan: JobPlan = {
      job,
      runId,
      memoryBytes,
      activeMs,
      image: images[job.language],
      hasNetwork: allowNetwork && job.allowNetwork,
      deadline: clock.now() + activeMs + LEFTOVER_MS,
    };
    try {
      stop.throwIfAborted();
      const uid = await api.createJob(jobManifest(plan));
      // After the job, which owns it. The pod waits for it.
      await api.createConfigMap(codeManifest(plan, uid));
      const state = await untilEnded(api, podSelector(runId), engineRun);
      return await report(state, engineRun);
    } catch (error) {
      if (!stop.aborted) log.warn({ err: error }, 'Kubernetes could not run code');
      throw kubernetesFailure(error, namespace);
    } finally {
      // Also where the answer to its creation never came: the gateway chose the name.
      await remove(jobName(runId));
    }
  }

  async function report(state: PodState & { phase: 'ended' }, engineRun: EngineRun): Promise<SandboxEnd> {
    const { job, stdout, stderr } = engineRun;
    if (state.isOutOfMemory) return outOfMemory(memoryBytes);
    const found = parseReport(await api.podLog(state.pod, reportBytes(loggedBytes(job.maxOutputBytes) + 1)));
    if (found === undefined) return { exitCode: null, note: 'it left no report of what it did' };
    stdout(found.stdout);
    stderr(found.stderr);
    return found.exitCode === 'timeout' ? { exitCode: null, isTimeout: true } : { exitCode: found.exitCode };
  }

  async function remove(name: string): Promise<void> {
    try {
      await api.deleteJob(name);
    } catch (err) {
      log.warn({ err, job: name }, 'a job could not be deleted now; the sweep will');
    }
  }

  const sweeping = keepSweeping(
    removeLeftovers,
    { done: 'jobs that a gateway had left were deleted', failed: 'leftover jobs could not be deleted' },
    log,
  );
  return { graceMs: GRACE_MS, run, ...sweeping };
}

/**
 * Follows the pod until its container has ended. Throws `sandbox.unavailable` if the container will never begin, and
 * the reason of `stop`.
 */
async function untilEnded(
  api: KubernetesApi,
  selector: string,
  { stop, started }: EngineRun,
): Promise<PodState & { phase: 'ended' }> {
  let wake = () => {};
  const watch = api.watchPods(selector, () => wake());
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  const look = async () => {
    try {
      const pods = await api.listPods(selector);
      failures = 0;
      return pods;
    } catch (error) {
      failures += 1;
      if (failures >= MOST_FAILURES) throw error;
      // As if nothing had changed.
      return [];
    }
  };
  try {
    for (;;) {
      stop.throwIfAborted();
      // Created before the poll, so that a change during the poll counts.
      const heard = Promise.withResolvers<void>();
      clearTimeout(timer);
      timer = setTimeout(heard.resolve, POLL_MS);
      wake = heard.resolve;
      const state = podState(await look());
      if (state.phase === 'running') started();
      if (state.phase === 'stuck') throw podFailure(state.reason);
      if (state.phase === 'ended') {
        started();
        return state;
      }
      await orAborted(heard.promise, stop);
    }
  } finally {
    watch.close();
    clearTimeout(timer);
  }
}

/** How far the pod of an execution is. */
export type PodState =
  | { readonly phase: 'waiting' }
  | { readonly phase: 'running'; readonly pod: string }
  | { readonly phase: 'ended'; readonly pod: string; readonly isOutOfMemory: boolean }
  /** It will never run. */
  | { readonly phase: 'stuck'; readonly reason: string };

/** Reasons for which a container waits without end. */
const STUCK = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]);

/** The state of the only pod that a job has: a pure function. */
export function podState(pods: readonly V1Pod[]): PodState {
  const pod = pods[0];
  const name = pod?.metadata?.name;
  if (pod === undefined || name === undefined) return { phase: 'waiting' };
  const state = pod.status?.containerStatuses?.[0]?.state;
  if (state?.terminated !== undefined)
    return { phase: 'ended', pod: name, isOutOfMemory: state.terminated.reason === 'OOMKilled' };
  if (pod.status?.phase === 'Failed') return { phase: 'stuck', reason: pod.status.reason ?? 'Failed' };
  if (state?.running !== undefined) return { phase: 'running', pod: name };
  const reason = state?.waiting?.reason;
  return reason !== undefined && STUCK.has(reason) ? { phase: 'stuck', reason } : { phase: 'waiting' };
}
