import { KernelErrors } from '../base/error-catalogue.ts';
import { GatewayError } from '../base/gateway-error.ts';
import { EgressErrors, EgressRefusal } from './errors.ts';

/** Codes of undici and Node for which "cannot be reached" says too little. */
const SENTENCES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'closed the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'answers with headers that are too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'did not send the whole answer',
  Z_DATA_ERROR: 'sent a body that cannot be decoded',
  Z_BUF_ERROR: 'sent a body that cannot be decoded',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate of another host',
};

/**
 * What a caller is told when a connection fails. The original text names addresses, so that only its code is passed on; the
 * error itself is the `cause`, for the log.
 */
export function connectionError(
  error: Error & { code?: unknown },
  { host }: { readonly host: string },
): Error {
  if (error instanceof GatewayError || error instanceof EgressRefusal) return error;
  const code =
    typeof error.code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(error.code) ? error.code : undefined;
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return KernelErrors.draining(undefined, { cause: error });
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return EgressErrors.timeout(`${host} did not accept a connection in time.`, { cause: error });
  }
  const sentence =
    code !== undefined && Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : 'cannot be reached';
  return EgressErrors.unreachable(`${host} ${sentence}${code === undefined ? '' : ` (${code})`}.`, {
    cause: error,
  });
}
