import type { Clock, Ids, Logger } from 'agent-gateway';
import { type SandboxEnd, SandboxErrors, type SandboxJob, type SandboxLanguage } from '../../contract.ts';

/** Takes bytes of stdout or stderr. */
export type WriteOutput = (bytes: Uint8Array) => void;

/** One execution, as an engine gets it. */
export interface EngineRun {
  readonly job: SandboxJob;
  /** Ends the code at once: the deadline, the caller, too much output, or the gateway's stop. */
  readonly stop: AbortSignal;
  /** To be called when the code begins to run: only then its time counts. */
  started(): void;
  readonly stdout: WriteOutput;
  readonly stderr: WriteOutput;
}

/** A way to run code away from the gateway. */
export interface SandboxEngine extends AsyncDisposable {
  /**
   * Milliseconds beyond the job's own time after which `stop` is raised, for an engine that watches the time itself.
   */
  readonly graceMs: number;
  /**
   * Runs code. Settles once nothing of it is left, soon after `stop`; its deadlines are its own. Throws
   * `sandbox.unavailable` where the code could not be run.
   */
  run(run: EngineRun): Promise<SandboxEnd>;
}

/** What the engines of containers work with. */
export interface ContainerEngineOptions {
  readonly images: Readonly<Record<SandboxLanguage, string>>;
  readonly allowNetwork: boolean;
  readonly memoryBytes: number;
  /** Milliseconds that a start may take; it decides when a container or job is a leftover. */
  readonly startTimeoutMs: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** How long after its time a container or job may still be shutting down. */
export const LEFTOVER_MS = 60_000;
/** How often leftovers of crashed gateways are looked for. */
const SWEEP_MS = 120_000;

/**
 * Looks for leftovers now and periodically, until it is disposed of.
 *
 * @param sweep removes them, and returns how many there were
 * @param words for the log: what was done with them, and what could not be
 */
export function keepSweeping(
  sweep: () => Promise<number>,
  words: { readonly done: string; readonly failed: string },
  log: Logger,
): AsyncDisposable {
  let isClosed = false;
  async function look(): Promise<void> {
    try {
      const removed = await sweep();
      if (removed > 0) log.warn({ removed }, words.done);
    } catch (err) {
      if (!isClosed) log.warn({ err }, words.failed);
    }
  }
  const timer = setInterval(() => void look(), SWEEP_MS).unref();
  const first = look();
  return {
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearInterval(timer);
      await first;
    },
  };
}

/** The end of code that was killed for its memory. */
export function outOfMemory(memoryBytes: number): SandboxEnd {
  return { exitCode: null, note: `it used more than ${Math.floor(memoryBytes / 1_048_576)} MiB of memory` };
}

/** Bytes of code; with `MAX_STDIN_BYTES` it fits into a ConfigMap (1 MiB), which is how `k8s-job` hands it over. */
export const MAX_CODE_BYTES = 256 * 1024;
/** Bytes of stdin. */
export const MAX_STDIN_BYTES = 512 * 1024;
/** The user and the group that code runs as in a container or in a user namespace. */
export const NOBODY = 65_534;
/** Bytes of memory that its processes may share. */
export const SHARED_MEMORY_BYTES = 16 * 1024 * 1024;
/** Bytes that code may keep in each of its writable folders. */
export const WORK_BYTES = 64 * 1024 * 1024;
/** Files in each of them: empty ones cost the kernel memory, too. */
export const MAX_FILES = 16_384;
/** Processes and threads of one execution. */
export const MAX_PROCESSES = 64;
/** Open files of one process. */
export const MAX_OPEN_FILES = 256;
/** Bytes of stdout, and of stderr, that are kept in memory at most, even if the job allows more. */
export const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
/** Bytes beyond the cap that are read and thrown away before the code is ended: reading them costs the gateway time. */
export const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** Throws `sandbox.too-large`, which names what is too large. */
export function checkSize({ code, stdin }: Pick<SandboxJob, 'code' | 'stdin'>): void {
  if (Buffer.byteLength(code) > MAX_CODE_BYTES)
    throw SandboxErrors.tooLarge(`the code is larger than ${MAX_CODE_BYTES} bytes`);
  if (stdin !== undefined && Buffer.byteLength(stdin) > MAX_STDIN_BYTES)
    throw SandboxErrors.tooLarge(`stdin is larger than ${MAX_STDIN_BYTES} bytes`);
}

/** All languages, for lists and checks. */
export const SANDBOX_LANGUAGES: readonly SandboxLanguage[] = ['python', 'javascript', 'shell'];

/** The file that holds the code. Node takes a `.js` file without a package.json as CommonJS or ESM, whichever it is. */
export const SOURCE_FILES: Readonly<Record<SandboxLanguage, string>> = {
  python: 'main.py',
  javascript: 'main.js',
  shell: 'main.sh',
};

/**
 * All that the code's environment holds in addition to `PATH`. Python without a buffer, so that a timeout loses nothing
 * that was printed.
 */
export const SANDBOX_ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: '/work',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  PYTHONUNBUFFERED: '1',
  PYTHONDONTWRITEBYTECODE: '1',
};

/** The part of the memory that V8 uses for objects; the rest is for its code, threads and buffers. */
const HEAP_SHARE = 0.6;

/**
 * What runs a file in an image that may lack bash.
 *
 * @param file the code's path in the sandbox
 */
export function imageCommand(
  language: SandboxLanguage,
  file: string,
  memoryBytes: number,
): readonly string[] {
  if (language === 'python') return ['python3', file];
  if (language === 'javascript') return ['node', heapFlag(memoryBytes), file];
  return ['sh', '-c', 'command -v bash >/dev/null && exec bash "$0"; exec sh "$0"', file];
}

/** V8's heap bound for a process that may use so much memory. */
export function heapFlag(memoryBytes: number): string {
  return `--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / 1_048_576)}`;
}
