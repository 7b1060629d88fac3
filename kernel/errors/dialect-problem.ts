import type { GatewayError } from '../../foundation/base/gateway-error.ts';

/** RFC 9457 problem details; `instance` is the request id, `code` is stable. */
export function problemBody(error: GatewayError, status: number, requestId: string): object {
  return {
    type: 'about:blank',
    title: error.title,
    status,
    detail: error.detail,
    instance: requestId,
    code: error.code,
    ...(error.extras.errors === undefined ? {} : { errors: error.extras.errors }),
  };
}
