import { messageOf, placed } from './subject.ts';

/** Errors that no code handles, while it is watched. */
export interface UnhandledErrors extends Disposable {
  /** Those since this was asked last, a sentence each. */
  take(): readonly string[];
}

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const;
type Listener = (...args: unknown[]) => void;

/**
 * Watches for rejections and exceptions that no code handles, of handlers and of the timers and emitters that they
 * leave behind. They end neither the process nor the test runner, whose listeners are removed until this is disposed:
 * they are findings.
 */
export function watchErrors(folder: string | undefined): UnhandledErrors {
  const seen = new Set<string>();
  const reported = new Set<string>();
  const own: Record<(typeof EVENTS)[number], Listener> = {
    uncaughtException: (error) =>
      seen.add(`an exception in a timer or a listener is not caught: ${described(error, folder)}`),
    unhandledRejection: (error) =>
      seen.add(`a promise that rejects is not awaited: ${described(error, folder)}`),
  };
  const others = EVENTS.map((event) => [event, process.listeners(event as 'exit') as Listener[]] as const);
  for (const event of EVENTS) {
    process.removeAllListeners(event);
    process.on(event, own[event]);
  }
  return {
    take() {
      const found = [...seen].filter((text) => !reported.has(text));
      for (const text of found) reported.add(text);
      return found;
    },
    [Symbol.dispose]() {
      for (const [event, listeners] of others) {
        process.off(event, own[event]);
        for (const listener of listeners) process.on(event, listener);
      }
    },
  };
}

function described(error: unknown, folder: string | undefined): string {
  return `${messageOf(error)}${placed(error, folder === undefined ? {} : { folder })}`;
}
