/** The numbers received from a stream of `numbered-provider.ts`, counted as they arrive. */
export interface Tally {
  /** Numbers that arrived. */
  readonly chunks: number;
  /** Numbers that never arrived; while the stream is open, also those that are on their way. */
  readonly lost: number;
  /** Numbers that arrived after a higher one, or twice. */
  readonly reordered: number;
  /** Did the text end with its count, and the stream with `done`? */
  readonly isComplete: boolean;
}

/** Reads such a stream: call `add` with each piece of the answer's text, and `done` when it has ended. */
export function readNumbers() {
  const missing = new Set<number>();
  let rest = '';
  let next = 0;
  let chunks = 0;
  let reordered = 0;
  let total: number | undefined;
  let isDone = false;

  function take(number: number): void {
    chunks += 1;
    if (number < next) {
      reordered += 1;
      missing.delete(number);
      return;
    }
    for (; next < number; next += 1) missing.add(next);
    next += 1;
  }

  return {
    add(text: string): void {
      rest += text;
      const whole = rest.lastIndexOf(' ') + 1;
      for (const [, number] of rest.slice(0, whole).matchAll(/n(\d+) /g)) take(Number(number));
      // `end` and its number are kept together.
      const kept = rest.slice(0, whole).endsWith('end ') ? whole - 4 : whole;
      rest = rest.slice(kept);
    },
    done(): void {
      isDone = true;
      const count = /^end (\d+)$/.exec(rest)?.[1];
      if (count !== undefined) total = Number(count);
    },
    tally: (): Tally => ({
      chunks,
      lost: missing.size + Math.max(0, (total ?? next) - next),
      reordered,
      isComplete: isDone && total !== undefined,
    }),
  };
}
