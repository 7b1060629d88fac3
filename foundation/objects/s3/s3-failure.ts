import { GatewayError } from '../../base/gateway-error.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { PutOptions } from '../objects.ts';

/** What the SDK's errors tell of a refusal. */
interface S3Refusal {
  readonly name: string;
  readonly $metadata: { readonly httpStatusCode?: number; readonly attempts?: number };
}

function refusalOf(error: unknown): S3Refusal | undefined {
  return error instanceof Error && '$metadata' in error ? (error as Error & S3Refusal) : undefined;
}

/** Is there no such object? A bucket that is missing is something else, where the store tells the difference. */
export function isMissing(error: unknown): boolean {
  const refusal = refusalOf(error);
  return refusal?.$metadata.httpStatusCode === 404 && refusal.name !== 'NoSuchBucket';
}

/** Is the range outside of the object? */
export function isOutOfRange(error: unknown): boolean {
  return refusalOf(error)?.$metadata.httpStatusCode === 416;
}

/** Did the condition of a write not hold? */
export function isConditionFailure(error: unknown): boolean {
  const status = refusalOf(error)?.$metadata.httpStatusCode;
  // 409: another conditional write of this object came first, at this very moment.
  return status === 412 || status === 409;
}

/** May an earlier attempt of the same request have done it already? */
export function wasRetried(error: unknown): boolean {
  return (refusalOf(error)?.$metadata.attempts ?? 1) > 1;
}

/** The error for callers of a write. */
export function putFailure(error: unknown, { ifAbsent, ifMatch }: PutOptions): unknown {
  if (ifAbsent === true && isConditionFailure(error)) return ObjectErrors.exists(undefined, { cause: error });
  if (ifMatch !== undefined && (isConditionFailure(error) || isMissing(error))) {
    return ObjectErrors.changed(undefined, { cause: error });
  }
  return s3Failure(error);
}

/** The error for callers: what the store said is the cause, and not in the text. */
export function s3Failure(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  const isFull = refusalOf(error)?.$metadata.httpStatusCode === 507;
  return (isFull ? ObjectErrors.full : ObjectErrors.unavailable)(undefined, { cause: error });
}

/** Does `work`; what fails becomes an error of the catalogue, but for the caller's own abort. */
export async function atS3<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error;
    throw s3Failure(error);
  }
}
