import { Type } from '../base/type.ts';

/** What identifies one state of a resource (RFC 9110, 8.8). */
export interface Validators {
  /** A strong one, with its quotes. */
  readonly etag: string;
  /** Milliseconds since the epoch; absent where it is not known. */
  readonly modifiedAt?: number;
}

/** The headers of a request that may set conditions, by lower-case name. */
export interface ConditionalHeaders {
  readonly 'if-match'?: string;
  readonly 'if-unmodified-since'?: string;
  readonly 'if-none-match'?: string;
  readonly 'if-modified-since'?: string;
  readonly 'if-range'?: string;
}

/**
 * What the conditions of a GET come to, in the order of RFC 9110, 13.2.2: `failed` is 412, `unmodified` is 304. A date
 * that is none is ignored, as it demands. Pure.
 */
export function precondition(
  headers: ConditionalHeaders,
  validators: Validators,
): 'failed' | 'unmodified' | 'met' {
  const { etag } = validators;
  const { 'if-match': wanted, 'if-none-match': known } = headers;
  if (wanted !== undefined) {
    if (!isListed(wanted, etag, false)) return 'failed';
  } else if (isSince(headers['if-unmodified-since'], validators) === false) return 'failed';
  if (known !== undefined) return isListed(known, etag, true) ? 'unmodified' : 'met';
  return isSince(headers['if-modified-since'], validators) === true ? 'unmodified' : 'met';
}

/**
 * Whether `Range` counts: the part that the client has is of this very state (RFC 9110, 13.1.5). A date has to be the
 * exact one. Pure.
 */
export function rangeCounts(headers: ConditionalHeaders, { etag, modifiedAt }: Validators): boolean {
  const condition = headers['if-range']?.trim();
  if (condition === undefined || condition === etag) return true;
  const date = dateOf(condition);
  return date !== undefined && modifiedAt !== undefined && date === wholeSeconds(modifiedAt);
}

const TAGS = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Weak comparison takes `W/"x"` for `"x"`; strong does not. */
function isListed(header: string, etag: string, weakly: boolean): boolean {
  if (header.trim() === '*') return true;
  return [...header.matchAll(TAGS)].some(([, weak, tag]) => tag === etag && (weakly || weak === undefined));
}

/** Whether it was not modified after the date; undefined where there is nothing to compare. */
function isSince(header: string | undefined, { modifiedAt }: Validators): boolean | undefined {
  const date = header === undefined ? undefined : dateOf(header);
  if (date === undefined || modifiedAt === undefined) return undefined;
  return wholeSeconds(modifiedAt) <= date;
}

/** Milliseconds of an HTTP date. The two obsolete forms are taken as well, but for what only looks like a date. */
function dateOf(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined;
  // A date of asctime names no zone, and is one of UTC (RFC 9110, 5.6.7).
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : date;
}

function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}

/** One tag: with quotes, weak or not, or a number alone. */
const NUMBERED = '(?:W/)?"([^",]*)"|(\\d{1,10})';
const ONE_NUMBERED = new RegExp(`^(?:${NUMBERED})$`);

/**
 * The header `If-Match` of a change of a record whose ETag is a number: `"3"`, `3`, several with commas between, or
 * `*`. The schema refuses anything else, together with what else is wrong with the request.
 *
 * @param number which number it is, for people: `the version`
 */
export function ifMatchHeader(number: string) {
  return Type.Object({
    'if-match': Type.Optional(
      Type.String({
        maxLength: 400,
        pattern: `^\\s*(?:\\*|(?:${NUMBERED})(?:\\s*,\\s*(?:${NUMBERED}))*)\\s*$`,
        patternErrorMessage: `must be ${number}, as its ETag says it ("3"), or *`,
        description: `For ${number} as in the ETag of an answer; else 412`,
        examples: ['"3"'],
      }),
    ),
  });
}

/**
 * Whether a change may be made: the header, which `ifMatchHeader` has accepted, names the number of the record now, or
 * none. Weak tags count too, since proxies that compress turn strong tags into weak ones. Pure.
 */
export function expectsNumber(header: string | undefined, now: number): boolean {
  if (header === undefined || header.trim() === '*') return true;
  return header.split(',').some((part) => {
    const [, tag, number] = ONE_NUMBERED.exec(part.trim()) ?? [];
    return (tag ?? number) === `${now}`;
  });
}
