import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'agent-gateway';
import { type SandboxEnd, SandboxErrors } from '../../contract.ts';
import {
  bubblewrapArguments,
  CODE_FD,
  exposedPaths,
  FILTER_FD,
  findHostPrograms,
  findVisibleFolders,
  STATUS_FD,
  WRITABLE_FOLDERS,
} from './bubblewrap-arguments.ts';
import {
  type ContainerEngineOptions,
  type EngineRun,
  MAX_FILES,
  outOfMemory,
  type SandboxEngine,
} from './engine.ts';
import { systemCallFilter } from './system-call-filter.ts';

/**
 * The first user id for code, far above the ids of people and services, so that no file or process belongs to it. Each
 * execution at work has an id of its own.
 */
const FIRST_USER = 1_879_048_192;

/** The gateway's own folder. It may be inside of a folder that code sees, `/usr/lib/…` for example. */
const GATEWAY = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/**
 * Code in a bubblewrap sandbox on this machine: no network, no files but those of the interpreters, an empty
 * environment, limits on time, memory, processes and files. It shares the kernel with the gateway, and is for
 * development.
 */
export function openLocalEngine({
  memoryBytes,
  log,
}: Pick<ContainerEngineOptions, 'memoryBytes' | 'log'>): SandboxEngine {
  const filter = systemCallFilter(process.arch);
  const isRoot = process.getuid?.() === 0;
  const users = new Set<number>();

  async function run(engineRun: EngineRun): Promise<SandboxEnd> {
    const { language, timeoutMs } = engineRun.job;
    const [programs, folders] = await Promise.all([
      findHostPrograms(language, process.execPath),
      findVisibleFolders(),
    ]);
    // Limits of processes count by user, so that each execution has one of its own.
    let user = FIRST_USER;
    while (users.has(user)) user += 1;
    users.add(user);
    try {
      const args = bubblewrapArguments({
        language,
        programs,
        folders,
        hidden: exposedPaths([...new Set([GATEWAY, process.cwd()])], folders),
        rootRunsAs: isRoot ? user : undefined,
        memoryBytes,
        timeoutMs,
        hasFilter: filter !== undefined,
      });
      return await runBubblewrap({ bwrap: programs.bwrap, args, filter, memoryBytes, log }, engineRun);
    } finally {
      users.delete(user);
    }
  }

  return { graceMs: 0, run, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** A sandbox that is to be started. */
export interface BubblewrapProcess {
  readonly bwrap: string;
  readonly args: readonly string[];
  readonly filter: Buffer | undefined;
  /** Bytes of all processes together. */
  readonly memoryBytes: number;
  readonly log: Logger;
}

/** How often memory and files are looked at, in milliseconds. */
const WATCH_MS = 100;
/** How long the pipes may stay open once the process is gone. */
const CLOSE_MS = 1000;
/** Characters that are kept of what bubblewrap itself says when it fails. */
const COMPLAINT_CHARS = 2000;
const STATUS_CHARS = 4096;

/**
 * Runs bubblewrap to its end. Throws `sandbox.unavailable` when it could not build the sandbox; the reason is only in
 * the log, since it describes this machine.
 */
export async function runBubblewrap(
  { bwrap, args, filter, memoryBytes, log }: BubblewrapProcess,
  { job, stop, started, stdout, stderr }: EngineRun,
): Promise<SandboxEnd> {
  const child = spawnAlone(bwrap, args, [
    ...(['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] as const),
    filter === undefined ? 'ignore' : 'pipe',
  ]);
  const status = watchStatus(child);
  let complaint = '';
  child.stdout!.on('data', stdout);
  child.stderr!.on('data', (bytes: Buffer) => {
    if (complaint.length < COMPLAINT_CHARS) complaint += bytes.toString('latin1', 0, COMPLAINT_CHARS);
    stderr(bytes);
  });
  feed(extraPipe(child, CODE_FD) as Writable, job.code.toWellFormed());
  if (filter !== undefined) feed(extraPipe(child, FILTER_FD) as Writable, filter);
  feed(child.stdin!, (job.stdin ?? '').toWellFormed());

  const kill = () => {
    const inner = status.innerPid();
    // With process 1 all others of the sandbox end. Its parent has not ended, so the id still belongs to process 1.
    if (inner !== undefined && child.exitCode === null && child.signalCode === null) killQuietly(inner);
    child.kill('SIGKILL');
  };
  let excess: SandboxEnd | undefined;
  const watch = setInterval(() => {
    const inner = status.innerPid();
    if (inner === undefined || status.exitCode() !== undefined) return;
    if (memoryUse(inner) + socketUse(inner) > memoryBytes) excess = outOfMemory(memoryBytes);
    else if (hasTooManyFiles(inner))
      excess = { exitCode: null, note: `it made more than ${MAX_FILES} files` };
    if (excess !== undefined) kill();
  }, WATCH_MS);
  stop.addEventListener('abort', kill);
  try {
    child.once('spawn', started);
    if (stop.aborted) kill();
    await closed(child);
  } catch (cause) {
    throw SandboxErrors.unavailable('bubblewrap could not be started', { cause });
  } finally {
    clearInterval(watch);
    stop.removeEventListener('abort', kill);
  }
  if (excess !== undefined) return excess;
  const exitCode = status.exitCode();
  if (exitCode === undefined && !stop.aborted) {
    log.warn({ bubblewrap: complaint.slice(0, COMPLAINT_CHARS) }, 'bubblewrap could not build a sandbox');
    throw SandboxErrors.unavailable(
      'bubblewrap could not build a sandbox on this machine, the log says why; it needs user namespaces, or root with CAP_SYS_ADMIN',
    );
  }
  return { exitCode: exitCode ?? null };
}

/**
 * Starts a program with these descriptors and no other. Node closes those that it was started with for its children
 * only up to number 16 and the first gap after it; `/dev/null` takes the place of the others.
 */
function spawnAlone(program: string, args: readonly string[], stdio: readonly ('pipe' | 'ignore')[]) {
  const inherited = INHERITED.filter((fd) => fd >= stdio.length);
  const slots: (number | 'pipe' | 'ignore')[] = [...stdio];
  const nothing = inherited.length === 0 ? undefined : openSync('/dev/null', 'r');
  while (slots.length <= Math.max(...inherited)) slots.push('ignore');
  for (const fd of inherited) slots[fd] = nothing!;
  try {
    return spawn(program, args, { stdio: slots, env: {} });
  } finally {
    if (nothing !== undefined) closeSync(nothing);
  }
}

const CLOSED_ON_EXEC = 0o2_000_000;

function isHandedOn(fd: number): boolean {
  const flags = /^flags:\s+(\d+)$/m.exec(textOf(`/proc/self/fdinfo/${fd}`))?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
}

/** Read once: what Node opens itself is closed on exec, and a gateway may have thousands of connections. */
const INHERITED = (orNothing(() => readdirSync('/proc/self/fd')) ?? []).map(Number).filter(isHandedOn);

/** What bubblewrap reports: a JSON document a line. It reports an exit code only for a command that has begun. */
function watchStatus(child: ChildProcess) {
  let text = '';
  (extraPipe(child, STATUS_FD) as Readable).on('data', (bytes: Buffer) => {
    if (text.length < STATUS_CHARS) text += bytes.toString('latin1');
  });
  const numberOf = (name: string) => {
    const found = new RegExp(`"${name}": *(\\d{1,10})`).exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  return { innerPid: () => numberOf('child-pid'), exitCode: () => numberOf('exit-code') };
}

/** A pipe in addition to the usual three; the types of Node know five. */
function extraPipe(child: ChildProcess, fd: number): unknown {
  return (child.stdio as readonly unknown[])[fd];
}

/** Writes everything and closes. A reader that is gone has no need of the rest. */
function feed(stream: Writable, data: string | Buffer): void {
  stream.on('error', () => undefined);
  stream.end(data);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Resolves once the process has ended and its output was read; rejects when it could not be started. */
function closed(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    child.once('error', reject);
    child.once('exit', () => {
      timer = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, CLOSE_MS);
    });
    child.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** More processes than a sandbox may have are not looked at. */
const MOST_PROCESSES = 512;

/**
 * Bytes that a process and all its descendants hold in memory, or had to give to the swap: their own pages and shared
 * memory, files aside. A page that a fork shares counts for each. 0 for a process that is gone. Reads in this turn:
 * threads for that may all be waiting, for the resolver of names for example, and the kernel answers without waiting
 * itself.
 */
function memoryUse(pid: number): number {
  const pending = [pid];
  let bytes = 0;
  for (let looked = 0; pending.length > 0 && looked < MOST_PROCESSES; looked += 1) {
    const next = pending.pop()!;
    bytes += heldBytes(next);
    pending.push(...childrenOf(next));
  }
  return bytes;
}

/** What the buffers of a socket hold at most by the kernel's defaults, those of TCP aside. */
const SOCKET_BYTES = 212_992;
const QUEUES = / ([0-9A-F]{8}):([0-9A-F]{8}) /g;

/**
 * Bytes that the kernel may hold in buffers for the sockets of a process's network namespace, which is the sandbox's
 * own: so much for each socket, since it says of none but those of TCP how much that is.
 */
function socketUse(pid: number): number {
  const used = /^sockets: used (\d+)$/m.exec(textOf(`/proc/${pid}/net/sockstat`))?.[1];
  let bytes = Number(used ?? 0) * SOCKET_BYTES;
  for (const table of ['tcp', 'tcp6'])
    for (const [, sent, received] of textOf(`/proc/${pid}/net/${table}`).matchAll(QUEUES))
      bytes += Number.parseInt(sent!, 16) + Number.parseInt(received!, 16);
  return bytes;
}

const TMPFS = 0x01021994;

/** True where the sandbox of process 1 holds more files than it may in one of its folders. */
function hasTooManyFiles(pid: number): boolean {
  return WRITABLE_FOLDERS.some(([path, bytes]) => {
    const folder = orNothing(() => statfsSync(`/proc/${pid}/root${path}`));
    // While bubblewrap builds the sandbox, that may still be a folder of the machine.
    const isOwn = folder?.type === TMPFS && folder.blocks * folder.bsize === bytes;
    return isOwn && folder.files - folder.ffree > MAX_FILES;
  });
}

function heldBytes(pid: number): number {
  let kilobytes = 0;
  for (const [, amount] of textOf(`/proc/${pid}/status`).matchAll(HELD)) kilobytes += Number(amount);
  return kilobytes * 1024;
}

const HELD = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm;

function childrenOf(pid: number): readonly number[] {
  const threads = orNothing(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const lists = threads
    .slice(0, MOST_PROCESSES)
    .map((thread) => textOf(`/proc/${pid}/task/${thread}/children`));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

function textOf(path: string): string {
  return orNothing(() => readFileSync(path, 'utf8')) ?? '';
}

/** A process may end at any moment, and its files with it. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
