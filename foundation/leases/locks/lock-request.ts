import { LockErrors } from './errors.ts';
import type { LockOptions } from './locks.ts';

/** What is asked for, checked and complete. */
export interface LockRequest {
  readonly key: string;
  /** Milliseconds. */
  readonly lease: number;
  /** Milliseconds. */
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

const MAX_KEY = 200;
const LEASE = { default: 10_000, least: 1_000, most: 60_000 };
const WAIT = { default: 30_000, least: 1, most: 3_600_000 };
/** Neither letter, mark, number, punctuation, symbol nor blank: control characters, line ends, half surrogate pairs. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Completes a request. @throws LockErrors.invalid naming what is wrong with the key or an option */
export function lockRequest(key: string, options: LockOptions = {}): LockRequest {
  checkKey(key);
  return {
    key,
    lease: milliseconds('lease', options.lease, LEASE),
    wait: milliseconds('wait', options.wait, WAIT),
    signal: options.signal,
  };
}

function checkKey(key: unknown): void {
  if (typeof key !== 'string') throw LockErrors.invalid(`The key must be text, not ${typeof key}`);
  if (key === '') throw LockErrors.invalid('The key is empty');
  // A character takes two units at most; what is longer is not looked at.
  if (key.length > 2 * MAX_KEY || [...key].length > MAX_KEY) {
    throw LockErrors.invalid(`The key is longer than ${MAX_KEY} characters`);
  }
  const found = UNPRINTABLE.exec(key);
  if (found === null) return;
  const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  throw LockErrors.invalid(
    `The key has a character that cannot be printed: U+${code} at position ${found.index + 1}`,
  );
}

function milliseconds(name: string, given: number | undefined, bounds: typeof LEASE): number {
  const value = given ?? bounds.default;
  if (value >= bounds.least && value <= bounds.most) return value;
  throw LockErrors.invalid(`${name} must be ${bounds.least} to ${bounds.most} ms, not ${value}`);
}
