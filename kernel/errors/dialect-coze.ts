import type { GatewayError } from '../../foundation/base/gateway-error.ts';

/** `{code, msg, detail: {logid}}`, as Coze's clients read it. */
export function cozeBody(error: GatewayError, status: number, requestId: string): object {
  return {
    code: CODES[status] ?? (status < 500 ? 4000 : 5000),
    msg: error.detail,
    detail: { logid: requestId },
  };
}

const CODES: Readonly<Record<number, number>> = { 400: 4000, 401: 4100, 403: 4101, 404: 4200, 429: 4013 };
