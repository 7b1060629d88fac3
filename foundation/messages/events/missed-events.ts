import type { Logger } from '../../observability/logger.ts';

/**
 * Reports that events may have been missed. A reason that comes soon after another is reported at the end of the pause.
 *
 * @param every least milliseconds between two calls
 */
export function createMissedEvents(every: number, log: Pick<Logger, 'error'>) {
  const listeners = new Set<{ readonly call: () => void }>();
  let pause: NodeJS.Timeout | undefined;
  let isDue = false;
  let isClosed = false;

  /** Calls the listeners soon, never within this call. */
  function report(): void {
    if (isClosed) return;
    if (pause !== undefined) {
      isDue = true;
      return;
    }
    pause = setTimeout(() => {
      pause = undefined;
      if (!isDue) return;
      isDue = false;
      report();
    }, every).unref();
    setImmediate(() => call());
  }

  function call(): void {
    for (const { call } of [...listeners]) {
      try {
        call();
      } catch (err) {
        log.error({ err }, 'a listener for missed events failed');
      }
    }
  }

  return {
    report,

    /** Adds a listener; returns the undo. The same function may be added twice. */
    on(listener: () => void): () => void {
      const entry = { call: listener };
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },

    /** No listener is called any more. */
    close(): void {
      isClosed = true;
      clearTimeout(pause);
      listeners.clear();
    },
  };
}
