import type { SandboxSettings } from './sandbox-config.ts';

/** Milliseconds for ending what has run over its time, and for removing it. */
const END_MS = 20_000;

/** Milliseconds that an execution may take beyond the time of its code: the turn, the start of a container, and the end. */
export function overheadOf({ start_timeout }: Pick<SandboxSettings, 'start_timeout'>): number {
  return 2 * start_timeout + END_MS;
}
