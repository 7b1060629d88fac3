import { isDeepStrictEqual } from 'node:util';
import { ConfigurationError } from './configuration-error.ts';
import { watchFolders } from './folder-watch.ts';
import { type GatewayFile, parseGatewayFile, readGatewayText } from './gateway-file.ts';

/** What happened to gateway.yaml. `invalid`: the last good state stays in force. */
export type GatewayFileEvent =
  | { readonly kind: 'changed'; readonly file: GatewayFile }
  | { readonly kind: 'invalid'; readonly error: ConfigurationError };

/** Timing, in milliseconds. */
export interface WatchTiming {
  /** A new content counts when two readings this far apart agree (default 50): editors truncate before they write. */
  readonly settle?: number;
  /** The file is read this often without any notice (default 2000): network file systems and some mounts send none. */
  readonly poll?: number;
}

/**
 * Reports changes of gateway.yaml since `current` was read, until the signal aborts: edits in place, replaced files, swapped links
 * (also a Kubernetes ConfigMap), creation and deletion. Only what matters is reported: not a comment, not the same error twice;
 * after an error the next good content always, as `changed`. `onChange` must not throw.
 */
export function watchGatewayFile(
  current: GatewayFile,
  onChange: (event: GatewayFileEvent) => void,
  signal: AbortSignal,
  { settle = 50, poll = 2000 }: WatchTiming = {},
): void {
  if (signal.aborted) return;
  const { path } = current;
  let good = current;
  let failure: string | undefined;
  let accepted: Reading | undefined;
  let candidate: Reading | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isReading = false;
  let isStale = false;

  const folders = watchFolders(path, () => schedule());
  const polling = setInterval(() => void read(false), poll).unref();
  signal.addEventListener('abort', stop, { once: true });
  void read(false);

  function stop(): void {
    clearInterval(polling);
    clearTimeout(timer);
    folders.close();
  }

  function schedule(): void {
    if (signal.aborted) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void read(true);
    }, settle).unref();
  }

  // Only a reading that the timer asked for is far enough from the one before; a poll may come right behind it.
  async function read(mayConfirm: boolean): Promise<void> {
    if (isReading) {
      isStale = true;
      return;
    }
    isReading = true;
    isStale = false;
    // Folders first: a swap after this line is noticed, one before it is read.
    await folders.refresh();
    const reading = await readOnce(path);
    isReading = false;
    if (signal.aborted) return;
    consider(reading, mayConfirm);
    if (isStale) schedule();
  }

  function consider(reading: Reading, mayConfirm: boolean): void {
    if (isDeepStrictEqual(reading, accepted)) {
      candidate = undefined;
    } else if (isDeepStrictEqual(reading, candidate)) {
      if (mayConfirm) accept(reading);
    } else {
      candidate = reading;
      clearTimeout(timer);
      timer = undefined;
      schedule();
    }
  }

  function accept(reading: Reading): void {
    accepted = reading;
    candidate = undefined;
    const result = parseReading(path, reading);
    if (result.kind === 'changed') {
      const matters = failure !== undefined || !isDeepStrictEqual(result.file.plugins, good.plugins);
      failure = undefined;
      good = result.file;
      if (matters) onChange(result);
    } else if (result.error.message !== failure) {
      failure = result.error.message;
      onChange(result);
    }
  }
}

/** One look at the file; readings are compared by value. */
type Reading = { readonly text: string | undefined } | { readonly problems: ConfigurationError['problems'] };

async function readOnce(path: string): Promise<Reading> {
  try {
    return { text: await readGatewayText(path) };
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems };
    throw error;
  }
}

function parseReading(path: string, reading: Reading): GatewayFileEvent {
  if ('problems' in reading) return { kind: 'invalid', error: new ConfigurationError(reading.problems) };
  try {
    return { kind: 'changed', file: parseGatewayFile(path, reading.text) };
  } catch (error) {
    if (error instanceof ConfigurationError) return { kind: 'invalid', error };
    throw error;
  }
}
