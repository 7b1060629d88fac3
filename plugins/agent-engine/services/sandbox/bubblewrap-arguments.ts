import { access, constants, lstat, readlink } from 'node:fs/promises';
import { SandboxErrors, type SandboxLanguage } from '../../contract.ts';
import {
  heapFlag,
  MAX_OPEN_FILES,
  MAX_PROCESSES,
  NOBODY,
  SANDBOX_ENVIRONMENT,
  SHARED_MEMORY_BYTES,
  SOURCE_FILES,
  WORK_BYTES,
} from './engine.ts';

/** File descriptors that bubblewrap gets in addition to 0, 1 and 2. */
export const CODE_FD = 3;
/** Where bubblewrap reports the process id inside, and how the command ended. */
export const STATUS_FD = 4;
/** Where it reads the filter of system calls. */
export const FILTER_FD = 5;

/** What decides how the sandbox is built. */
export interface BubblewrapPlan {
  readonly language: SandboxLanguage;
  readonly programs: HostPrograms;
  readonly folders: readonly VisibleFolder[];
  /** Folders inside of those that must not be seen. */
  readonly hidden: readonly string[];
  /**
   * The user id that code runs as where the gateway is root: root itself is under no limit of processes. Undefined for
   * another user: the code is nobody in a user namespace then.
   */
  readonly rootRunsAs: number | undefined;
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly hasFilter: boolean;
}

/** The folders that code may write to, and the bytes of each. */
export const WRITABLE_FOLDERS = [
  ['/dev/shm', SHARED_MEMORY_BYTES],
  ['/work', WORK_BYTES],
  ['/tmp', WORK_BYTES],
] as const;

/**
 * The arguments for `bwrap`: a pure function. Process 1 is bubblewrap's own: it dies with the gateway and with the end
 * of the program, and the kernel then ends all others.
 */
export function bubblewrapArguments(plan: BubblewrapPlan): readonly string[] {
  const { folders, hidden, language, programs, rootRunsAs } = plan;
  const file = `/sandbox/${SOURCE_FILES[language]}`;
  return [
    ['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    identity(rootRunsAs),
    ['--new-session', '--die-with-parent', '--hostname', 'sandbox'],
    // Folders that bubblewrap makes without being asked may be entered by their owner only.
    parentsOf(folders).flatMap((path) => ['--perms', '0755', '--dir', path]),
    folders.flatMap((folder) =>
      folder.kind === 'link'
        ? ['--symlink', folder.target, folder.path]
        : ['--ro-bind', folder.path, folder.path],
    ),
    hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ['--proc', '/proc', '--dev', '/dev'],
    WRITABLE_FOLDERS.flatMap(([path, bytes]) => {
      return ['--perms', '1777', '--size', String(bytes), '--tmpfs', path];
    }),
    ['--perms', '0755', '--dir', '/sandbox'],
    language === 'javascript' ? ['--ro-bind', programs.interpreter, '/sandbox/node'] : [],
    ['--perms', '0444', '--ro-bind-data', String(CODE_FD), file],
    ['--remount-ro', '/dev', '--remount-ro', '/'],
    ['--chdir', '/work', '--clearenv', '--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin'],
    Object.entries(SANDBOX_ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--json-status-fd', String(STATUS_FD)],
    plan.hasFilter ? ['--seccomp', String(FILTER_FD)] : [],
    ['--'],
    rootRunsAs === undefined ? [] : dropRoot(programs.setpriv, rootRunsAs),
    limits(plan),
    language === 'javascript'
      ? ['/sandbox/node', heapFlag(plan.memoryBytes), file]
      : [programs.interpreter, file],
  ].flat();
}

/** The folders above, outermost first. */
function parentsOf(folders: readonly VisibleFolder[]): readonly string[] {
  const parents = new Set<string>();
  for (const { path } of folders) {
    for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1))
      parents.add(path.slice(0, at));
  }
  return [...parents];
}

function identity(rootRunsAs: number | undefined): readonly string[] {
  if (rootRunsAs === undefined) {
    return ['--unshare-user', '--disable-userns', '--uid', String(NOBODY), '--gid', String(NOBODY)];
  }
  // What `setpriv` needs to change the user. It keeps none of them.
  const capabilities = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'];
  return ['--cap-drop', 'ALL', ...capabilities.flatMap((name) => ['--cap-add', name])];
}

function dropRoot(setpriv: string, user: number): readonly string[] {
  const identity = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  return [setpriv, ...identity, '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'];
}

/** What V8 reserves for its code, and what its threads have as stacks: it counts as data, and is hardly used. */
const V8_RESERVES_BYTES = 1024 * 1024 * 1024;

/**
 * The limits of each process. Not RLIMIT_AS: V8 reserves far more addresses than it uses. RLIMIT_DATA counts what a
 * process can write to. What all processes hold together is watched from outside.
 */
function limits({ language, programs, memoryBytes, timeoutMs }: BubblewrapPlan): readonly string[] {
  const both = (value: number) => `${value}:${value}`;
  return [
    programs.prlimit,
    `--data=${both(memoryBytes + (language === 'javascript' ? V8_RESERVES_BYTES : 0))}`,
    `--cpu=${both(Math.ceil(timeoutMs / 1000) + 1)}`,
    `--nproc=${both(MAX_PROCESSES)}`,
    `--nofile=${both(MAX_OPEN_FILES)}`,
    `--fsize=${both(WORK_BYTES)}`,
    '--core=0:0',
    '--msgqueue=0:0',
    '--memlock=0:0',
    '--',
  ];
}

/** One thing of the host that is seen inside. */
type VisibleFolder =
  | { readonly path: string; readonly kind: 'folder' }
  | { readonly path: string; readonly kind: 'link'; readonly target: string };

/**
 * What interpreters need, and no more: `/usr` as a whole may hold the gateway itself, in `/usr/src/app` for example.
 */
const CANDIDATES = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/local/bin',
  '/usr/local/lib',
  '/usr/share/zoneinfo',
  '/bin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc/alternatives',
  '/etc/ld.so.cache',
];

/** Those of the folders that this machine has. A link stays a link, as on systems where `/bin` is `/usr/bin`. */
export async function findVisibleFolders(): Promise<readonly VisibleFolder[]> {
  const found = await Promise.all(CANDIDATES.map(look));
  return found.filter((folder) => folder !== undefined);
}

async function look(path: string): Promise<VisibleFolder | undefined> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return undefined;
  return status.isSymbolicLink()
    ? { path, kind: 'link', target: await readlink(path) }
    : { path, kind: 'folder' };
}

/** Those of the paths that would be seen inside. */
export function exposedPaths(paths: readonly string[], folders: readonly VisibleFolder[]): readonly string[] {
  return paths.filter((path) =>
    folders.some((folder) => folder.kind === 'folder' && path.startsWith(`${folder.path}/`)),
  );
}

/** The programs of this machine that the sandbox is made of, as absolute paths. */
interface HostPrograms {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly setpriv: string;
  /** What runs the code, as a path on the host. */
  readonly interpreter: string;
}

/** Folders that are seen inside as well. Not `PATH`: a version manager's shim in a home folder would not work there. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];

/**
 * Finds the programs again for each execution, so that installing a missing one is enough. Throws
 * `sandbox.unavailable`, which says what to install.
 *
 * @param nodePath the Node that runs JavaScript: the gateway's own, wherever it is
 */
export async function findHostPrograms(language: SandboxLanguage, nodePath: string): Promise<HostPrograms> {
  const [bwrap, prlimit, setpriv, interpreter] = await Promise.all([
    find(['bwrap']),
    find(['prlimit']),
    find(['setpriv']),
    language === 'javascript' ? nodePath : find(language === 'python' ? ['python3'] : ['bash', 'sh']),
  ]);
  const missing = [
    bwrap === undefined ? 'bubblewrap' : undefined,
    prlimit === undefined || setpriv === undefined ? 'util-linux' : undefined,
    interpreter === undefined ? (language === 'python' ? 'python3' : 'bash') : undefined,
  ].filter((name) => name !== undefined);
  if (!bwrap || !prlimit || !setpriv || !interpreter) {
    throw SandboxErrors.unavailable(
      `the local sandbox needs packages that this machine lacks: ${missing.join(', ')}`,
    );
  }
  return { bwrap, prlimit, setpriv, interpreter };
}

async function find(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of FOLDERS) {
      const path = `${folder}/${name}`;
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path;
    }
  }
  return undefined;
}
