import type { V1Pod } from '@kubernetes/client-node';

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
