import type { V1ConfigMap, V1Job, V1Volume } from '@kubernetes/client-node';
import type { SandboxJob } from '../../contract.ts';
import { imageCommand, NOBODY, SANDBOX_ENVIRONMENT, SOURCE_FILES, WORK_BYTES } from './engine.ts';

/** Selects every job of every gateway in the namespace. */
export const SANDBOX_SELECTOR = 'app.kubernetes.io/name=svc-sandbox';
/** Unix milliseconds after which no gateway waits for the job any more. */
export const DEADLINE_ANNOTATION = 'svc.sandbox/deadline';

/**
 * Bytes of stdout, and of stderr, at most: nodes rotate a container's log at 10 MiB by default, and a report must be in
 * one file.
 */
const MAX_LOGGED_BYTES = 2 * 1024 * 1024;

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

/** Seconds that a finished job stays if no gateway deletes it. */
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

/**
 * Code and stdin, owned by the job and removed with it. A command line or an environment would be shown with the pod.
 */
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
  // One byte more than is wanted shows that there was more.
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

/** Where the ConfigMap with code and stdin is mounted. */
const CODE_FOLDER = '/code';
/** Where the output is kept until it is reported. */
const OUTPUT_FOLDER = '/out';

/** What begins the lines around a report. */
const MARK = 'svc-sandbox-report';

/**
 * What the container runs, for any POSIX shell with coreutils or busybox:
 * `sh -c <script> sandbox <bytes> <seconds> <command…>`. It is process 1. A pod's log does not separate stdout from
 * stderr, so both go to files first, and the log holds one report of them, as base64. Before it is written every other
 * process is killed, so that only the script can write the report.
 */
export const RUN_SCRIPT = `
bytes=$1 seconds=$2; shift 2
ulimit -c 0
(exec "$@" <${CODE_FOLDER}/stdin >${OUTPUT_FOLDER}/stdout 2>${OUTPUT_FOLDER}/stderr) &
child=$!
(sleep "$seconds"; : >${OUTPUT_FOLDER}/timeout; kill -9 "$child") >/dev/null 2>&1 &
wait "$child" 2>/dev/null
code=$?
kill -9 -1 2>/dev/null
[ -e ${OUTPUT_FOLDER}/timeout ] && code=timeout
echo; echo "${MARK} stdout $code"
head -c "$bytes" ${OUTPUT_FOLDER}/stdout | base64
echo "${MARK} stderr"
head -c "$bytes" ${OUTPUT_FOLDER}/stderr | base64
echo "${MARK} end"
exit 0`;

/** The content of a report. */
interface RunReport {
  /** `timeout`: the script ended the code for its time. */
  readonly exitCode: number | 'timeout';
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * The last whole report of a log: the code may have written lines that look like one. Undefined where there is none.
 */
export function parseReport(log: string): RunReport | undefined {
  const end = log.lastIndexOf(`\n${MARK} end`);
  const errorAt = end === -1 ? -1 : log.lastIndexOf(`\n${MARK} stderr\n`, end);
  const outputAt = errorAt === -1 ? -1 : log.lastIndexOf(`\n${MARK} stdout `, errorAt);
  if (outputAt === -1) return undefined;
  const codeAt = outputAt + `\n${MARK} stdout `.length;
  const lineEnd = log.indexOf('\n', codeAt);
  const code = log.slice(codeAt, lineEnd);
  if (code !== 'timeout' && !/^\d{1,3}$/.test(code)) return undefined;
  return {
    exitCode: code === 'timeout' ? code : Number(code),
    stdout: Buffer.from(log.slice(lineEnd, errorAt), 'base64'),
    stderr: Buffer.from(log.slice(errorAt + `\n${MARK} stderr\n`.length, end), 'base64'),
  };
}

/** The most bytes of a log that holds a report of so many bytes of stdout and as many of stderr. */
export function reportBytes(outputBytes: number): number {
  const base64 = Math.ceil(outputBytes / 3) * 4;
  // A line break after 76 characters, and the lines around.
  return 2 * (base64 + Math.ceil(base64 / 76)) + 4096;
}
