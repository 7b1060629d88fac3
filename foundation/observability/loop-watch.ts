import type { Logger } from './logger.ts';

/** Milliseconds between two looks, and the delay of a look that is worth a line. */
const LOOK_MS = 500;
const BLOCKED_MS = 1_000;

/**
 * Watches the event loop until the signal aborts: where it was blocked for more than a second, a line says for how
 * long, and which plugins had work in hand at that moment. One of those was the cause.
 *
 * @param busy names of the plugins that have work in hand
 */
export function watchLoop(
  log: Pick<Logger, 'warn'>,
  busy: () => readonly string[],
  signal: AbortSignal,
): void {
  let suspects: readonly string[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const blocked = now - last - LOOK_MS;
    last = now;
    const present = busy();
    if (blocked >= BLOCKED_MS) {
      // Work that began and ended in between is in neither; work that waited for it is in both.
      const plugins = [...new Set([...suspects, ...present])];
      log.warn(
        { ms: Math.round(blocked), plugins },
        'the event loop was blocked: nothing else went on meanwhile',
      );
    }
    suspects = present;
  }, LOOK_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
