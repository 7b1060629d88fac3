import type { FieldError, GatewayError } from '../base/gateway-error.ts';
import { GRPC_CODES, grpcStatusOf } from '../base/grpc-status.ts';
import { redactText } from '../observability/redact-text.ts';
import { errorHeaders, fieldPath } from './render.ts';

/** An error as the end of a gRPC call reports it. */
export interface GrpcErrorStatus {
  /** gRPC status code. */
  readonly code: number;
  /**
   * The sentence for the caller, at most 1024 characters, and 2 KiB percent-encoded. It names the bad fields as far as
   * they fit.
   */
  readonly details: string;
  /** Trailers with text: `svc-error-code`, `retry-after` and what else an HTTP answer would carry. */
  readonly trailers: Readonly<Record<string, string>>;
  /** The bad fields of the request, for `google.rpc.BadRequest`: at most 32, and 2 KiB. */
  readonly violations: readonly FieldViolation[];
}

/** One bad field (`google.rpc.BadRequest.FieldViolation`). */
export interface FieldViolation {
  /** `messages[0].role`. */
  readonly field: string;
  readonly description: string;
}

/**
 * Clients take 8 KiB of trailers by default, and turn an error with more into one that says nothing of it. The sentence
 * is in there twice, percent-encoded and, with the bad fields, as base64.
 */
const MAX_DETAILS = 1024;
const MAX_ENCODED = 2048;
const MAX_VIOLATIONS = 32;
const MAX_VIOLATION_BYTES = 2048;
const MAX_FIELD = 64;
const MAX_DESCRIPTION = 96;
const MAX_HEADER = 256;

/**
 * Renders an error in gRPC's terms (decisions 0.1). What the client sent and is quoted holds no credential any more.
 */
export function renderGrpcError(error: GatewayError): GrpcErrorStatus {
  const { errors = [] } = error.extras;
  const reported = errors.slice(0, MAX_VIOLATIONS);
  const trailers: Record<string, string> = { 'svc-error-code': error.code };
  for (const [name, value] of Object.entries(errorHeaders(error))) trailers[name] = headerText(value);
  // The same in gRPC's terms: libraries that retry by a policy of their channel know only this one.
  const seconds = trailers['retry-after'] ?? '';
  if (trailers['x-should-retry'] === 'false') trailers['grpc-retry-pushback-ms'] = '-1';
  else if (/^\d{1,6}$/.test(seconds)) trailers['grpc-retry-pushback-ms'] = String(Number(seconds) * 1_000);
  return {
    code: GRPC_CODES[grpcStatusOf(error)],
    details: encodable(clean(sentence(error.detail, reported, errors.length), MAX_DETAILS)),
    trailers,
    violations: violationsOf(reported),
  };
}

function violationsOf(errors: readonly FieldError[]): readonly FieldViolation[] {
  let room = MAX_VIOLATION_BYTES;
  return errors.map(violationOf).filter(({ field, description }) => {
    room -= Buffer.byteLength(field + description);
    return room >= 0;
  });
}

function violationOf(error: FieldError): FieldViolation {
  return { field: clean(fieldPath(error), MAX_FIELD), description: clean(error.message, MAX_DESCRIPTION) };
}

function sentence(detail: string, errors: readonly FieldError[], count: number): string {
  if (errors.length === 0) return detail;
  const described = errors.map((error) => `${fieldPath(error)} ${error.message}`.trim());
  if (count > errors.length) described.push(`and ${count - errors.length} more`);
  return `${detail}: ${described.join('; ')}`;
}

/** Without credentials, cut, and well-formed: half of a surrogate pair cannot be percent-encoded. */
function clean(text: string, most: number): string {
  const safe = redactText(text);
  return (safe.length > most ? `${safe.slice(0, most - 1)}…` : safe).toWellFormed();
}

/** Cut to what may be sent of it: a character has up to nine bytes when it is percent-encoded. */
function encodable(text: string): string {
  if (encodeURI(text).length <= MAX_ENCODED) return text;
  let room = MAX_ENCODED - encodeURI('…').length;
  let end = 0;
  for (const character of text) {
    room -= encodeURI(character).length;
    if (room < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}

/** Metadata takes visible ASCII and blanks alone. */
function headerText(value: string): string {
  return value.slice(0, MAX_HEADER).replaceAll(/[^\x20-\x7e]/g, '?');
}
