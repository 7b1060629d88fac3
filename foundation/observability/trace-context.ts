import { redactText } from './redact-text.ts';

/** Headers that carry a trace to the next service: lower-case names `traceparent`, `tracestate`, `baggage`. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** What came with a request: headers of HTTP or metadata of gRPC, by their lower-case names. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Where a request stands in its trace (W3C Trace Context level 2). */
export interface TraceParent {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 hexadecimal digits of the caller's span, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** What came with a request, each part validated; a malformed part counts as absent, as W3C requires. */
export interface TraceContext {
  readonly parent: TraceParent | undefined;
  /** Never without a parent. */
  readonly state: string | undefined;
  readonly baggage: string | undefined;
}

/** Reads the W3C headers. Never throws. */
export function readTraceContext(headers: RequestHeaders): TraceContext {
  const parent = parseTraceParent(single(headers.traceparent));
  return {
    parent,
    state: parent === undefined ? undefined : checked(single(headers.tracestate), isTraceState),
    baggage: checked(single(headers.baggage), isBaggage),
  };
}

/** Writes the W3C headers. */
export function writeTraceContext({ parent, state, baggage }: TraceContext): TraceHeaders {
  const headers: Record<string, string> = {};
  if (parent !== undefined) {
    headers.traceparent = `00-${parent.traceId}-${parent.spanId}-${parent.isSampled ? '01' : '00'}`;
  }
  if (state !== undefined) headers.tracestate = state;
  if (baggage !== undefined) headers.baggage = baggage;
  return headers;
}

/**
 * `traceparent`, or undefined where it is malformed. A version above 00 may be longer and is read as far as it is
 * known; version ff, and ids of zeros, are invalid.
 */
export function parseTraceParent(value: string | undefined): TraceParent | undefined {
  if (value === undefined || value.length > MAX_TRACE_PARENT) return undefined;
  const match = TRACE_PARENT.exec(value);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, rest] = match as unknown as [string, ...string[]];
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (ZEROS.test(traceId!) || ZEROS.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/**
 * True for a `tracestate` of at most 32 members and 512 characters without a key twice, nor a credential: spans record
 * it.
 */
export function isTraceState(value: string): boolean {
  if (value.length > MAX_TRACE_STATE) return false;
  const members = value.split(',').map(trimmed).filter(Boolean);
  if (members.length === 0 || members.length > MAX_STATE_MEMBERS) return false;
  const keys = members.map((member) => member.slice(0, member.indexOf('=')));
  const isWellFormed = members.every((member) => STATE_MEMBER.test(member));
  return isWellFormed && new Set(keys).size === keys.length && redactText(value) === value;
}

/** True for a `baggage` (W3C Baggage) of at most 64 members and 8192 characters. */
export function isBaggage(value: string): boolean {
  if (value.length > MAX_BAGGAGE) return false;
  const members = value.split(',');
  return members.length <= MAX_BAGGAGE_MEMBERS && members.every(isBaggageMember);
}

const MAX_TRACE_PARENT = 256;
const MAX_TRACE_STATE = 512;
const MAX_STATE_MEMBERS = 32;
const MAX_BAGGAGE = 8192;
const MAX_BAGGAGE_MEMBERS = 64;

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/;
const ZEROS = /^0+$/;
const STATE_MEMBER =
  /^(?:[a-z0-9][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z0-9][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const BAGGAGE_KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const BAGGAGE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

/** `key=value` and then properties, each `key` or `key=value`. */
function isBaggageMember(member: string): boolean {
  return member.split(';').every((part, index) => {
    const equals = part.indexOf('=');
    if (equals < 0) return index > 0 && BAGGAGE_KEY.test(trimmed(part));
    return (
      BAGGAGE_KEY.test(trimmed(part.slice(0, equals))) && BAGGAGE_VALUE.test(trimmed(part.slice(equals + 1)))
    );
  });
}

/** Without the optional white space of HTTP: blanks and tabs, no other. */
function trimmed(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/[ \t]+$/, '');
}

/** A header that came twice is no valid `traceparent`; Node joins the lists itself. */
function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function checked(value: string | undefined, isValid: (value: string) => boolean): string | undefined {
  return value !== undefined && isValid(value) ? value : undefined;
}
