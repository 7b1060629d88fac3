import type { V1ConfigMap, V1Job, V1Volume } from '@kubernetes/client-node';
import type { SandboxJob } from '../../../contract.ts';
import { WORK_BYTES } from '../limits.ts';
import { imageCommand, SANDBOX_ENVIRONMENT, SOURCE_FILES } from '../programs.ts';
import { CODE_FOLDER, OUTPUT_FOLDER, RUN_SCRIPT } from './run-script.ts';

/** Selects every job of every gateway in the namespace. */
export const SANDBOX_SELECTOR = 'app.kubernetes.io/name=svc-sandbox';
/** Unix milliseconds after which nobody waits for the job any more. */
export const DEADLINE_ANNOTATION = 'svc.sandbox/deadline';

/** The most of stdout, and of stderr: nodes rotate a container's log at 10 MiB by default, and a report must be in one file. */
export const MAX_LOGGED_BYTES = 2 * 1024 * 1024;

/** What decides how a job is made. */
export interface JobPlan {
  readonly job: SandboxJob;
  readonly runId: string;
  readonly image: string;
  readonly hasNetwork: boolean;
  readonly memoryBytes: number;
  /** Unix milliseconds. */
  readonly deadline: number;
  /** Milliseconds after which Kubernetes itself ends the job, scheduling and start included. */
  readonly activeMs: number;
}

const NOBODY = 65_534;
/** Seconds that a finished job stays where nobody deletes it. */
const FINISHED_SECONDS = 60;

/** The name of the job and of its ConfigMap. */
export function jobName(runId: string): string {
  return `svc-sandbox-${runId}`;
}

/** Selects the pod of one execution. */
export function podSelector(runId: string): string {
  return `svc.sandbox/run=${runId}`;
}

/** How much of an output the job hands over. */
export function loggedBytes(maxOutputBytes: number): number {
  return Math.min(maxOutputBytes, MAX_LOGGED_BYTES);
}

/** The job of one execution: a pure function. */
export function jobManifest(plan: JobPlan): V1Job {
  const { job, runId, hasNetwork, deadline, activeMs } = plan;
  // A NetworkPolicy selects by the label: Kubernetes itself has no switch for a pod's network.
  const labels = {
    'app.kubernetes.io/name': 'svc-sandbox',
    'svc.sandbox/run': runId,
    'svc.sandbox/network': hasNetwork ? 'allowed' : 'none',
  };
  const annotations = { 'svc.sandbox/tenant': job.tenantId, [DEADLINE_ANNOTATION]: String(deadline) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: jobName(runId), labels, annotations },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: Math.ceil(activeMs / 1000),
      ttlSecondsAfterFinished: FINISHED_SECONDS,
      template: {
        metadata: { labels, annotations },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 0,
          hostname: 'sandbox',
          securityContext: {
            runAsNonRoot: true,
            runAsUser: NOBODY,
            runAsGroup: NOBODY,
            fsGroup: NOBODY,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [container(plan)],
          volumes: volumes(plan),
        },
      },
    },
  };
}

/** Code and stdin, owned by the job and removed with it. A command line or an environment would be shown with the pod. */
export function codeManifest({ job, runId }: JobPlan, jobUid: string): V1ConfigMap {
  const name = jobName(runId);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      labels: { 'app.kubernetes.io/name': 'svc-sandbox' },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid: jobUid }],
    },
    immutable: true,
    data: { code: job.code.toWellFormed(), stdin: (job.stdin ?? '').toWellFormed() },
  };
}

function container({ job, image, memoryBytes }: JobPlan) {
  const file = `${CODE_FOLDER}/${SOURCE_FILES[job.language]}`;
  // One byte more than is wanted tells that there was more.
  const report = [String(loggedBytes(job.maxOutputBytes) + 1), String(job.timeoutMs / 1000)];
  return {
    name: 'code',
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', RUN_SCRIPT, 'sandbox', ...report, ...imageCommand(job.language, file, memoryBytes)],
    env: Object.entries(SANDBOX_ENVIRONMENT).map(([name, value]) => ({ name, value })),
    workingDir: '/work',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      privileged: false,
      capabilities: { drop: ['ALL'] },
    },
    resources: {
      limits: { cpu: '1', memory: String(memoryBytes), 'ephemeral-storage': String(WORK_BYTES) },
      requests: { cpu: '100m', memory: String(Math.ceil(memoryBytes / 4)) },
    },
    volumeMounts: [
      { name: 'code', mountPath: CODE_FOLDER, readOnly: true },
      { name: 'output', mountPath: OUTPUT_FOLDER },
      { name: 'work', mountPath: '/work' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

function volumes({ job, runId }: JobPlan): V1Volume[] {
  const items = [
    { key: 'code', path: SOURCE_FILES[job.language] },
    { key: 'stdin', path: 'stdin' },
  ];
  // In memory: it counts as the container's, and the node's disk cannot be filled.
  const emptyDir = { medium: 'Memory', sizeLimit: String(WORK_BYTES) };
  return [
    { name: 'code', configMap: { name: jobName(runId), defaultMode: 0o444, items } },
    { name: 'output', emptyDir },
    { name: 'work', emptyDir },
    { name: 'tmp', emptyDir },
  ];
}
