import { SandboxErrors, type SandboxJob } from '../../contract.ts';

/** Bytes of code; with `MAX_STDIN_BYTES` it fits into a ConfigMap (1 MiB), which is how `k8s-job` hands it over. */
export const MAX_CODE_BYTES = 256 * 1024;
/** Bytes of stdin. */
export const MAX_STDIN_BYTES = 512 * 1024;
/** Bytes that code may keep in each of its writable folders. */
export const WORK_BYTES = 64 * 1024 * 1024;
/** Processes and threads of one execution. */
export const MAX_PROCESSES = 64;
/** Open files of one process. */
export const MAX_OPEN_FILES = 256;
/** The most of stdout, and of stderr, that is kept in memory, whatever the job says. */
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
