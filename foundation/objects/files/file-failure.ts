import { isSystemError } from '../../base/durable-file.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import { ObjectErrors } from '../object-errors.ts';

/**
 * Does `work`; failures of the operating system become `objects.full` or `objects.unavailable` with the original as
 * cause.
 */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileFailure(error);
  }
}

/** The error for callers; what is none of the operating system's stays as it is. */
export function fileFailure(error: unknown): unknown {
  if (error instanceof GatewayError || !isSystemError(error)) return error;
  const isFull = isSystemError(error, 'ENOSPC', 'EDQUOT');
  return (isFull ? ObjectErrors.full : ObjectErrors.unavailable)(undefined, { cause: error });
}
