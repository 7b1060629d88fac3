import { ConfigurationError } from 'agent-gateway';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import type { SandboxJob } from '../../contract.ts';
import {
  imageCommand,
  MAX_FILES,
  MAX_OPEN_FILES,
  MAX_PROCESSES,
  NOBODY,
  SANDBOX_ENVIRONMENT,
  SHARED_MEMORY_BYTES,
  SOURCE_FILES,
  WORK_BYTES,
} from './engine.ts';

/** The label of all containers of the sandbox. */
export const SANDBOX_LABEL = 'svc.sandbox';
/** Unix milliseconds after which no gateway waits for the container any more. */
export const DEADLINE_LABEL = 'svc.sandbox.deadline';

/** What decides how a container is made. */
interface ContainerPlan {
  readonly job: Pick<SandboxJob, 'code' | 'language' | 'tenantId'>;
  readonly runId: string;
  readonly image: string;
  readonly hasNetwork: boolean;
  readonly memoryBytes: number;
  /** Unix milliseconds. */
  readonly deadline: number;
  /** The engine is Podman, which knows fewer options of folders in memory. */
  readonly isPodman: boolean;
}

const INPUT_BYTES = 4 * 1024 * 1024;

/**
 * Code and stdin come through the container's stdin, one after the other: a command line or an environment would show
 * them to every client that may list containers. Before them comes a line, which is empty, or what Podman leaves of the
 * request that attached the stream. The shell stays process 1, so that the code's end is the end of all
 * its processes, and what the shell says of a killed child is no output of the code.
 */
const LAUNCH = `
umask 022; exec 3>&2 2>/dev/null; read -r _
head -c "$1" >/sandbox/input && head -c "$2" /sandbox/input >"$3" && tail -c "+$(($2 + 1))" /sandbox/input >/sandbox/stdin || exit 125
rm /sandbox/input; shift 3
(exec "$@" </sandbox/stdin 2>&3 3>&-)
exit $?`;

/** What the container reads from its stdin. */
export function containerInput({ code, stdin = '' }: Pick<SandboxJob, 'code' | 'stdin'>): Buffer {
  return Buffer.from(code.toWellFormed() + stdin.toWellFormed());
}

/** The container's name; it is known before the engine has answered. */
export function containerName(runId: string): string {
  return `svc-sandbox-${runId}`;
}

/** The body of "Create a container": a pure function. */
export function containerSpec(plan: ContainerPlan, inputBytes: number): ContainerCreateOptions {
  const { job, runId, image, hasNetwork, memoryBytes, deadline, isPodman } = plan;
  const file = `/sandbox/${SOURCE_FILES[job.language]}`;
  const codeBytes = Buffer.byteLength(job.code.toWellFormed());
  return {
    name: containerName(runId),
    Image: image,
    Entrypoint: ['sh', '-c', LAUNCH, 'sandbox'],
    Cmd: [String(inputBytes), String(codeBytes), file, ...imageCommand(job.language, file, memoryBytes)],
    Env: Object.entries(SANDBOX_ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
    Hostname: 'sandbox',
    User: `${NOBODY}:${NOBODY}`,
    WorkingDir: '/work',
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: !hasNetwork,
    Labels: {
      [SANDBOX_LABEL]: 'true',
      [DEADLINE_LABEL]: String(deadline),
      'svc.sandbox.run': runId,
      'svc.sandbox.tenant': job.tenantId,
    },
    HostConfig: {
      NetworkMode: hasNetwork ? 'bridge' : 'none',
      ReadonlyRootfs: true,
      Tmpfs: {
        '/sandbox': tmpfs(INPUT_BYTES, isPodman),
        '/work': tmpfs(WORK_BYTES, isPodman),
        '/tmp': tmpfs(WORK_BYTES, isPodman),
        ...(isPodman ? PODMAN_FOLDERS : {}),
      },
      ShmSize: SHARED_MEMORY_BYTES,
      IpcMode: 'private',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: 1_000_000_000,
      PidsLimit: MAX_PROCESSES,
      Ulimits: [
        { Name: 'nofile', Soft: MAX_OPEN_FILES, Hard: MAX_OPEN_FILES },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      RestartPolicy: { Name: 'no' },
      // What the code writes comes over the attached stream; a log file would fill the engine's disk.
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}

/** Podman would put folders in memory there that can be written, as large as the memory of the execution. */
const PODMAN_FOLDERS = { '/run': 'ro,nosuid,nodev,size=4096', '/var/tmp': 'ro,nosuid,nodev,size=4096' };

/**
 * With an owner: where the image has a folder of that name, some engines give it that folder's mode. Podman refuses an
 * owner, and a bound of files.
 */
function tmpfs(bytes: number, isPodman: boolean): string {
  const more = isPodman ? '' : `nr_inodes=${MAX_FILES},uid=${NOBODY},gid=${NOBODY},`;
  return `rw,nosuid,nodev,size=${bytes},${more}mode=1777`;
}

/**
 * How the client reaches the engine that `DOCKER_HOST` names. Certificates for TLS come from `DOCKER_CERT_PATH`, which
 * the client reads itself. Throws a ConfigurationError, which stops the start, for an address of another kind.
 */
export function dockerOptions(host: string | undefined): Docker.DockerOptions {
  if (host === undefined || host === '') return { socketPath: '/var/run/docker.sock' };
  if (host.startsWith('unix:///')) return { socketPath: host.slice('unix://'.length) };
  const url = URL.parse(host);
  if (url?.protocol === 'tcp:' && url.hostname !== '')
    return { host: url.hostname, port: url.port || '2375' };
  if (url?.protocol === 'http:') return { protocol: 'http', host: url.hostname, port: url.port || '80' };
  if (url?.protocol === 'https:') return { protocol: 'https', host: url.hostname, port: url.port || '443' };
  const message = 'must be unix:// and a path, or tcp://host:port';
  throw new ConfigurationError([{ name: 'DOCKER_HOST', message }]);
}
