import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds that work may go on while timers and sockets wait. */
const STRETCH_MS = 10;

/** The pause that is due: until timers and sockets have had their turn. Undefined where none is due yet. */
export type Pauses = () => Promise<void> | undefined;

/**
 * Pauses for work that never waits by itself: long loops, and chains of promises that settle at once, as those of
 * SQLite's statements do. Without them nothing else of the process runs until the work is done.
 *
 * @example
 * const pauses = createPauses();
 * for (const row of rows) {
 *   const pause = pauses();
 *   if (pause !== undefined) await pause;
 *   compare(row);
 * }
 */
export function createPauses(stretchMs = STRETCH_MS): Pauses {
  /** When the work began that goes on since the last turn of the event loop. */
  let began: number | undefined;
  const turned = () => {
    began = undefined;
  };
  return () => {
    if (began === undefined) {
      began = performance.now();
      setImmediate(turned);
      return undefined;
    }
    return performance.now() - began < stretchMs ? undefined : nextTurn();
  };
}

/** Maps a list whose items may be large, with pauses. */
export async function mapWithPauses<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const pauses = createPauses();
  const results: R[] = [];
  for (const item of items) {
    const pause = pauses();
    if (pause !== undefined) await pause;
    results.push(map(item));
  }
  return results;
}
