import { PermitErrors } from './errors.ts';
import type { PermitOptions } from './permits.ts';

/** What is asked for, checked and complete. */
export interface PermitRequest {
  readonly key: string;
  readonly name: string;
  readonly note: string;
  readonly limit: number;
  /** Milliseconds. */
  readonly lease: number;
}

const MAX_TEXT = 200;
const LIMIT = { least: 0, most: 1_000_000 };
const LEASE = { default: 20_000, least: 1_000, most: 60_000 };
/** Letters, marks, numbers, punctuation, symbols and the blank: no control characters, line ends or half surrogate pairs. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** Completes a request. @throws PermitErrors.invalid naming what is wrong with it */
export function permitRequest(key: string, options: PermitOptions): PermitRequest {
  const { name, limit, lease = LEASE.default, note = '' } = options;
  checkText('key', key, 1);
  checkText('name', name, 1);
  checkText('note', note, 0);
  if (!Number.isInteger(limit)) throw PermitErrors.invalid(`limit must be a whole number, not ${limit}`);
  checkRange('limit', limit, LIMIT);
  checkRange('lease', lease, LEASE);
  return { key, name, note, limit, lease };
}

/** Checks what names a place. @throws PermitErrors.invalid */
export function checkPlace(key: string, name: string): void {
  checkText('key', key, 1);
  checkText('name', name, 1);
}

function checkText(what: string, text: unknown, least: number): void {
  if (typeof text !== 'string') throw PermitErrors.invalid(`The ${what} must be text, not ${typeof text}`);
  // A character takes two units at most; what is longer is not looked at.
  const length = text.length > 2 * MAX_TEXT ? text.length : [...text].length;
  if (length < least || length > MAX_TEXT) {
    throw PermitErrors.invalid(`The ${what} must have ${least} to ${MAX_TEXT} characters`);
  }
  if (!PRINTABLE.test(text)) throw PermitErrors.invalid(`The ${what} has a character that cannot be printed`);
}

function checkRange(what: string, value: number, { least, most }: { least: number; most: number }): void {
  if (value >= least && value <= most) return;
  throw PermitErrors.invalid(`${what} must be ${least} to ${most}, not ${value}`);
}
