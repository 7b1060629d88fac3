import { KernelErrors } from './error-catalogue.ts';
import type { ErrorKind, GatewayError } from './gateway-error.ts';

/** The status codes of gRPC by their names. */
export const GRPC_CODES = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** Name of a gRPC status code. */
export type GrpcStatusName = keyof typeof GRPC_CODES;

/**
 * gRPC status of each kind of error (decisions 0.1). `conflict` is a state in which the call makes no sense, which no
 * repetition changes; a name that is taken is distinguished by its code (`grpcStatusOf`).
 */
const GRPC_STATUS: Readonly<Record<ErrorKind, GrpcStatusName>> = {
  invalid: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'method-not-allowed': 'UNIMPLEMENTED',
  conflict: 'FAILED_PRECONDITION',
  gone: 'NOT_FOUND',
  'precondition-failed': 'ABORTED',
  'too-large': 'RESOURCE_EXHAUSTED',
  'unsupported-media': 'INVALID_ARGUMENT',
  'headers-too-large': 'RESOURCE_EXHAUSTED',
  'expectation-failed': 'INVALID_ARGUMENT',
  'request-timeout': 'DEADLINE_EXCEEDED',
  'range-not-satisfiable': 'OUT_OF_RANGE',
  'rate-limited': 'RESOURCE_EXHAUSTED',
  'client-closed': 'CANCELLED',
  internal: 'INTERNAL',
  upstream: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
};

/** Codes of conflicts that mean: there is one already (`agent.name-taken`, `model.exists`). */
const TAKEN = /[.-](?:taken|exists|duplicate)$/;

/** What gRPC itself calls unimplemented: a service or method that is not there, and a compression that is not known. */
const UNIMPLEMENTED: ReadonlySet<string> = new Set([
  KernelErrors.pathNotFound.definition.code,
  KernelErrors.unsupportedEncoding.definition.code,
]);

/**
 * The gRPC status of an error, by its kind. Some are distinguished by their code: what gRPC calls unimplemented, and a
 * conflict whose code ends in `taken`, `exists` or `duplicate`, which is ALREADY_EXISTS.
 */
export function grpcStatusOf({ kind, code }: Pick<GatewayError, 'kind' | 'code'>): GrpcStatusName {
  if (UNIMPLEMENTED.has(code)) return 'UNIMPLEMENTED';
  if (kind === 'conflict' && TAKEN.test(code)) return 'ALREADY_EXISTS';
  return GRPC_STATUS[kind];
}

const NAMES = new Map<number, string>(Object.entries(GRPC_CODES).map(([name, code]) => [code, name]));

/** `NOT_FOUND` for 5; the number as text for what is no status. */
export function grpcStatusName(code: number): string {
  return NAMES.get(code) ?? String(code);
}
