import { type Deployment, defineErrors, orAborted } from 'agent-gateway';

/** The errors of reading the log. */
export const LogErrors = defineErrors({
  tooMany: { code: 'log.too-many-readers', kind: 'unavailable', title: 'Too many readers follow the log' },
});

/** The severities of lines, least first. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof LEVELS)[number];

/** Readers of one process at one time. */
export const MAX_READERS = 8;
/** Lines and characters that are buffered for a slow reader. */
const MAX_LINES = 1_000;
const MAX_CHARACTERS = 1024 * 1024;

/** A line of the log, without its line break; or the number of lines that were left out, since the reader was slow. */
export type LogItem = { readonly line: string } | { readonly lost: number };

export type LogReaders = ReturnType<typeof createLogReaders>;

/** Follows the log of this process for remote readers. Without readers nothing is buffered, and lines cost nothing. */
export function createLogReaders({ followLog }: Pick<Deployment, 'followLog'>) {
  const closing = new AbortController();
  let taken = 0;

  return {
    /**
     * The lines of this level and above, from the call until the signal aborts. The reader takes its place at once,
     * even if it is never read, and keeps it until it has ended or the signal has aborted. Throws
     * `log.too-many-readers`.
     */
    follow(level: Level, signal: AbortSignal): AsyncGenerator<LogItem, void> {
      if (taken >= MAX_READERS) throw LogErrors.tooMany(`${MAX_READERS} are the most.`);
      const ended = AbortSignal.any([signal, closing.signal]);
      return read(level, ended, takePlace(ended));
    },
    /** Ends all readers. */
    close: () => closing.abort(),
  };

  /** Takes a place until the signal aborts, or the returned function is called. */
  function takePlace(ended: AbortSignal): () => void {
    let isTaken = !ended.aborted;
    if (isTaken) taken += 1;
    const leave = () => {
      if (isTaken) taken -= 1;
      isTaken = false;
      ended.removeEventListener('abort', leave);
    };
    ended.addEventListener('abort', leave);
    return leave;
  }

  async function* read(level: Level, signal: AbortSignal, leave: () => void): AsyncGenerator<LogItem, void> {
    const wanted = new Set<string>(LEVELS.slice(LEVELS.indexOf(level)));
    let waiting: string[] = [];
    let characters = 0;
    let lost = 0;
    let wake = () => {};
    const end = followLog((line) => {
      if (!wanted.has(levelOf(line))) return;
      if (waiting.length >= MAX_LINES || characters + line.length > MAX_CHARACTERS) lost += 1;
      else {
        waiting.push(line.trimEnd());
        characters += line.length;
      }
      wake();
    });
    try {
      while (!signal.aborted) {
        if (waiting.length === 0 && lost === 0) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          // Without lines the stream waits: only the signal ends it.
          await orAborted(promise, signal).catch(() => {});
          continue;
        }
        const [lines, missed] = [waiting, lost];
        [waiting, characters, lost] = [[], 0, 0];
        for (const line of lines) yield { line };
        if (missed > 0) yield { lost: missed };
      }
    } finally {
      end();
      leave();
    }
  }
}

/** Every line begins with its level. */
function levelOf(line: string): string {
  return /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? 'info';
}
