/** Failures in a row after which a node is left alone. */
const THRESHOLD = 5;
/** Milliseconds for which it is left alone: doubled with each trial that fails. */
const FIRST_MS = 10_000;
const MOST_MS = 300_000;

/** How calls to one node went. */
export interface Circuit {
  /** In a row, up to now. */
  readonly failures: number;
  /** Milliseconds since the epoch: until then it is not called. 0: it may be. */
  readonly openUntil: number;
}

/** A node that was never called. */
export const CLOSED: Circuit = { failures: 0, openUntil: 0 };

/** Whether a node may be called. When its time is over one call is a trial, and its failure opens the circuit again. Pure. */
export function mayCall({ openUntil }: Circuit, now: number): boolean {
  return now >= openUntil;
}

/** After a trial was let through: the others wait for what comes of it. Pure. */
export function tried(circuit: Circuit, now: number): Circuit {
  return circuit.failures < THRESHOLD ? circuit : { ...circuit, openUntil: now + FIRST_MS };
}

/** After a call. Pure. */
export function afterCall(circuit: Circuit, succeeded: boolean, now: number): Circuit {
  if (succeeded) return CLOSED;
  const failures = circuit.failures + 1;
  if (failures < THRESHOLD) return { failures, openUntil: 0 };
  return { failures, openUntil: now + Math.min(FIRST_MS * 2 ** Math.min(failures - THRESHOLD, 10), MOST_MS) };
}
