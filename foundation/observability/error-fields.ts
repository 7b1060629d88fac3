import { clipText } from './redact-text.ts';

/** What a log line tells about a failure. Own members of the error are left out: clients put whole requests there. */
export interface ErrorFields {
  /** Class name. */
  readonly type: string;
  readonly message: string;
  /** The stable code of a catalogued error, or `ECONNREFUSED` and its like. */
  readonly code?: string | number;
  readonly stack?: string;
  /** The failure below, at most `MAX_CAUSES` deep. */
  readonly cause?: ErrorFields | string;
  /** The first failures of an `AggregateError`. */
  readonly errors?: readonly (ErrorFields | string)[];
}

/** Serializes an error for the log; bounded in depth and length. Secrets in its texts fall to `redactLine` later. */
export function errorFields(error: Error): ErrorFields {
  return describe(error, 0);
}

const MAX_CAUSES = 5;
const MAX_AGGREGATED = 5;
const MAX_MESSAGE = 4096;
const MAX_STACK = 8192;

function describe(error: Error, depth: number): ErrorFields {
  const { code, cause, errors } = error as Error & { code?: unknown; errors?: unknown };
  const hasRoom = depth < MAX_CAUSES;
  return {
    type: error.constructor?.name ?? error.name,
    message: clipText(String(error.message), MAX_MESSAGE),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof error.stack === 'string' ? { stack: clipText(error.stack, MAX_STACK) } : {}),
    ...(cause !== undefined && hasRoom ? { cause: describeAny(cause, depth + 1) } : {}),
    ...(Array.isArray(errors) && hasRoom
      ? { errors: errors.slice(0, MAX_AGGREGATED).map((each) => describeAny(each, depth + 1)) }
      : {}),
  };
}

function describeAny(thrown: unknown, depth: number): ErrorFields | string {
  if (thrown instanceof Error) return describe(thrown, depth);
  return typeof thrown === 'string' ? clipText(thrown, MAX_MESSAGE) : `[${typeof thrown}]`;
}
