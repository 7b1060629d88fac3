import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { followStates, wayTo } from '../base/follow.ts';
import { ConfigurationError } from './configuration-error.ts';
import { type GatewayFile, parseGatewayFile, readGatewayText } from './gateway-file.ts';

/** What happened to gateway.yaml. `invalid`: the last good state stays in force. */
export type GatewayFileEvent =
  | { readonly kind: 'changed'; readonly file: GatewayFile }
  | { readonly kind: 'invalid'; readonly error: ConfigurationError };

/** How the file is watched; times in milliseconds. */
export interface WatchTiming {
  /** A new content counts when two readings this far apart agree (default 50): editors truncate before they write. */
  readonly settle?: number;
  /** The file is read this often without any notice (default 2000): network file systems and some mounts send none. */
  readonly poll?: number;
  /**
   * What is in force now, which the administration changes as well: a content that differs from it matters, though it
   * may be the one that was read last. Default: what was read last.
   */
  readonly inForce?: () => GatewayFile;
}

/**
 * Reports changes of gateway.yaml since `current` was read, until the signal aborts: edits in place, replaced files,
 * swapped links (also a Kubernetes ConfigMap), creation and deletion. A file that was emptied is invalid. Only what
 * matters is reported: not a comment, not the same error twice; after an error the next good content always, as
 * `changed`. `onChange` must not throw.
 */
export function watchGatewayFile(
  current: GatewayFile,
  onChange: (event: GatewayFileEvent) => void,
  signal: AbortSignal,
  { settle = 50, poll = 2000, inForce }: WatchTiming = {},
): void {
  const { path } = current;
  let good = current;
  const latest = () => inForce?.() ?? good;
  let failure: string | undefined;
  followStates<Reading>({
    look: async () => ({ states: new Map([[path, await readOnce(path)]]), targets: await wayTo(path) }),
    onChange(_, reading = {}) {
      const result = parseReading(path, reading, latest());
      if (result.kind === 'changed') {
        const isKnown = [good, latest()].every(({ plugins }) =>
          isDeepStrictEqual(plugins, result.file.plugins),
        );
        const matters = failure !== undefined || !isKnown;
        failure = undefined;
        good = result.file;
        if (matters) onChange(result);
      } else if (result.error.message !== failure) {
        failure = result.error.message;
        onChange(result);
      }
    },
    signal,
    settle,
    poll,
  });
}

/** One look at the file: its text, or why there is none; without both it is not there. */
interface Reading {
  readonly text?: string | undefined;
  readonly problems?: ConfigurationError['problems'];
  /** Of the write that the text is from: an empty file between two writes is no settled one. */
  readonly writtenAt?: bigint | undefined;
}

async function readOnce(path: string): Promise<Reading> {
  try {
    const status = await stat(path, { bigint: true }).catch(() => undefined);
    return { text: await readGatewayText(path), writtenAt: status?.mtimeNs };
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems };
    throw error;
  }
}

function parseReading(path: string, reading: Reading, inForce: GatewayFile): GatewayFileEvent {
  if (reading.problems !== undefined)
    return { kind: 'invalid', error: new ConfigurationError(reading.problems) };
  try {
    return { kind: 'changed', file: parseGatewayFile(path, reading.text, inForce) };
  } catch (error) {
    if (error instanceof ConfigurationError) return { kind: 'invalid', error };
    throw error;
  }
}
