/** Consecutive failures after which a node is not called for some time. */
const THRESHOLD = 5;
/** Milliseconds for which it is not called: doubled with each trial that fails. */
const FIRST_MS = 10_000;
const MOST_MS = 300_000;

/** How calls to one node went. */
export interface Circuit {
  /** Consecutive failures, up to now. */
  readonly failures: number;
  /** Milliseconds of a clock that never runs backwards: until then it is not called. 0: it may be. */
  readonly openUntil: number;
}

/** A node that was never called. */
export const CLOSED: Circuit = { failures: 0, openUntil: 0 };

/**
 * Whether a node may be called. Once `openUntil` has passed, one call is a trial, and its failure opens the circuit
 * again. Pure.
 */
export function mayCall({ openUntil }: Circuit, now: number): boolean {
  return now >= openUntil;
}

/** The circuit while a trial is in progress: other calls are held back until it has ended. Pure. */
export function tried(circuit: Circuit, now: number): Circuit {
  return circuit.failures < THRESHOLD ? circuit : { ...circuit, openUntil: now + FIRST_MS };
}

/** The circuit after a call that failed; one that succeeds closes it. Pure. */
export function afterFailure(circuit: Circuit, now: number): Circuit {
  const failures = circuit.failures + 1;
  if (failures < THRESHOLD) return { failures, openUntil: 0 };
  return { failures, openUntil: now + Math.min(FIRST_MS * 2 ** Math.min(failures - THRESHOLD, 10), MOST_MS) };
}
