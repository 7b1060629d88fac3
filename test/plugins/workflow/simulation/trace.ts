import { createHash } from 'node:crypto';

/** What happened, in order. The hash of all lines says whether two simulations were the same. */
export interface Trace {
  note(time: number, line: string): void;
  hash(): string;
  /** The last lines, readable; all of them when the trace was told to keep them. */
  lines(): readonly string[];
}

/** A trace that keeps the last `keep` lines. */
export function createTrace(keep: number): Trace {
  const hash = createHash('sha256');
  let kept: string[] = [];
  return {
    note(time, line) {
      const text = `${(time / 1000).toFixed(6).padStart(12)}  ${line}`;
      hash.update(text);
      kept.push(text);
      if (kept.length > 2 * keep + 1000) kept = kept.slice(-keep);
    },
    hash: () => hash.copy().digest('hex'),
    lines: () => kept.slice(-keep),
  };
}
