import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';

/** After so many unhandled errors, within so many milliseconds, a plugin is left out of the next start. */
const TOO_MANY = 3;
const WITHIN_MS = 10 * 60_000;

/** What is on the disk: by plugin, the times (milliseconds) at which it ended the process lately. */
type Times = Readonly<Record<string, readonly number[]>>;

/** Which plugins ended the process with unhandled errors, remembered over restarts. */
export type CrashRecord = ReturnType<typeof openCrashRecord>;

/**
 * Opens the record in a file, which need not be there. One that cannot be read counts as empty: it is no reason not to
 * start.
 */
export function openCrashRecord(file: string, clock: Pick<Clock, 'now'>) {
  let times = read(file);

  function write(next: Times): void {
    times = next;
    try {
      writeFileSync(`${file}.tmp`, JSON.stringify(next), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
    } catch {
      // A disk that takes nothing is reported by parts that need it more.
    }
  }

  return {
    /**
     * Plugins that ended it three times within ten minutes, with the time of the last. They stay here until they are
     * forgiven.
     */
    leftOut: (): ReadonlyMap<string, Date> =>
      new Map(
        Object.entries(times).flatMap(([plugin, all]) =>
          isTooMuch(all) ? [[plugin, new Date(all.at(-1)!)] as const] : [],
        ),
      ),
    /** Written at once, since the process ends: never throws. */
    note(plugin: string): void {
      const before = times[plugin] ?? [];
      write({ ...times, [plugin]: [...before, clock.now()].slice(-TOO_MANY) });
    },
    forgive(plugin: string): void {
      if (times[plugin] === undefined) return;
      const { [plugin]: _, ...others } = times;
      write(others);
    },
  };
}

function isTooMuch(times: readonly number[]): boolean {
  return times.length >= TOO_MANY && times.at(-1)! - times.at(-TOO_MANY)! <= WITHIN_MS;
}

function read(file: string): Times {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const entries = Object.entries(parsed as object).filter(
      ([, times]) => Array.isArray(times) && times.every((time) => Number.isFinite(time)),
    );
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}
