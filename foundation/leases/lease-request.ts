import { defineErrors } from '../base/gateway-error.ts';
import type { LeaseWaitOptions } from './leases.ts';

/**
 * What can go wrong with a lease. The codes are older than the lease, which clients need not learn. No text here names
 * a key: keys concern only the code that chooses them.
 */
export const LeaseErrors = defineErrors({
  invalid: { code: 'lock.invalid', kind: 'invalid', title: 'The lease cannot be asked for like this' },
  timeout: { code: 'lock.timeout', kind: 'unavailable', title: 'The lease did not become free in time' },
  full: { code: 'lock.full', kind: 'unavailable', title: 'As many as may hold a lease already' },
  unavailable: {
    code: 'lock.unavailable',
    kind: 'unavailable',
    title: 'Leases cannot be taken now',
    retryAfter: 5,
  },
  tooManyWaiters: {
    code: 'lock.too-many-waiters',
    kind: 'unavailable',
    title: 'Too many are waiting for this lease already',
  },
  /** A reason of a lease's signal. */
  lost: { code: 'lock.lost', kind: 'unavailable', title: 'The lease was lost while it was held' },
  /** A reason of a lease's signal. */
  revoked: { code: 'permit.revoked', kind: 'conflict', title: 'The holder of the lease was asked to end' },
});

/** What is asked for, checked and complete. */
export interface LeaseRequest {
  readonly key: string;
  readonly name: string;
  readonly limit: number;
  /** Milliseconds. */
  readonly ttl: number;
  readonly note: string;
  readonly strict: boolean;
  /** Milliseconds. */
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

/** Which lease is meant; the name is empty where none was given. */
export type LeasePlace = Pick<LeaseRequest, 'key' | 'name'>;

const MAX_TEXT = 200;
const LIMIT = { least: 0, most: 1_000_000 };
/** Milliseconds. */
export const TTL = { default: 20_000, least: 1_000, most: 60_000 };
const WAIT = { default: 30_000, least: 1, most: 3_600_000 };
/**
 * Letters, marks, numbers, punctuation, symbols and the blank: no control characters, line ends or half surrogate
 * pairs.
 */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** Completes a request. @throws LeaseErrors.invalid naming what is wrong with it */
export function leaseRequest(key: string, options: LeaseWaitOptions = {}): LeaseRequest {
  const { name, limit = 1, ttl = TTL.default, wait = WAIT.default } = options;
  const { note = '', strict = false, signal } = options;
  checkPlace(key, name);
  checkText('note', note, 0);
  if (!Number.isInteger(limit)) throw LeaseErrors.invalid(`limit must be a whole number, not ${limit}`);
  checkRange('limit', limit, LIMIT);
  if (limit > 1 && name === undefined) throw LeaseErrors.invalid('A limit above 1 needs a name');
  checkRange('ttl', ttl, TTL);
  checkRange('wait', wait, WAIT);
  return { key, name: name ?? '', limit, ttl, note, strict, wait, signal };
}

/** Checks what says which lease is meant. @throws LeaseErrors.invalid */
export function checkPlace(key: string, name: string | undefined): void {
  checkText('key', key, 1);
  if (name !== undefined) checkText('name', name, 1);
}

/** One text for a name under a key; a NUL is in neither. */
export const labelOf = ({ key, name }: LeasePlace) => `${key}\0${name}`;

function checkText(what: string, text: unknown, least: number): void {
  if (typeof text !== 'string') throw LeaseErrors.invalid(`The ${what} must be text, not ${typeof text}`);
  // A character takes one unit or two: only between the bounds that this gives they have to be counted.
  const isClear = text.length <= MAX_TEXT || text.length > 2 * MAX_TEXT;
  const length = isClear ? text.length : [...text].length;
  if (length < least || length > MAX_TEXT) {
    throw LeaseErrors.invalid(`The ${what} must have ${least} to ${MAX_TEXT} characters`);
  }
  if (!PRINTABLE.test(text)) throw LeaseErrors.invalid(`The ${what} has a character that cannot be printed`);
}

function checkRange(what: string, value: number, { least, most }: { least: number; most: number }): void {
  if (value >= least && value <= most) return;
  throw LeaseErrors.invalid(`${what} must be ${least} to ${most}, not ${value}`);
}
