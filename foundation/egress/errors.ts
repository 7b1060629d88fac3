import { KernelErrors } from '../base/error-catalogue.ts';
import { defineErrors, GatewayError } from '../base/gateway-error.ts';
import type { AddressClass } from './address-class.ts';

/** What can go wrong with outbound requests and their rules (decisions 1.12). */
export const EgressErrors = defineErrors({
  denied: { code: 'egress.denied', kind: 'forbidden', title: 'The gateway does not send requests there' },
  malformed: { code: 'egress.malformed', kind: 'invalid', title: 'The outbound request is not valid' },
  unreachable: { code: 'egress.unreachable', kind: 'upstream', title: 'The other server cannot be reached' },
  timeout: { code: 'egress.timeout', kind: 'timeout', title: 'The other server took too long' },
  tooLarge: {
    code: 'egress.response-too-large',
    kind: 'upstream',
    title: 'The answer of the other server is too large',
  },
  tooManyRedirects: {
    code: 'egress.too-many-redirects',
    kind: 'upstream',
    title: 'The other server redirects too often',
  },
  badRedirect: {
    code: 'egress.bad-redirect',
    kind: 'upstream',
    title: 'The redirect of the other server cannot be followed',
  },
  busy: {
    code: 'egress.busy',
    kind: 'unavailable',
    title: 'Too many outbound requests are open',
    retryAfter: 1,
  },
  invalidRule: { code: 'egress.invalid-rule', kind: 'invalid', title: 'The egress rule is not valid' },
  tooManyRules: {
    code: 'egress.too-many-rules',
    kind: 'conflict',
    title: 'The tenant has too many egress rules',
  },
});

/** Codes of errors of the receiver, or of its address. */
const FAULTS = new Set(
  [
    EgressErrors.denied,
    EgressErrors.malformed,
    EgressErrors.unreachable,
    EgressErrors.timeout,
    EgressErrors.tooLarge,
    EgressErrors.tooManyRedirects,
    EgressErrors.badRedirect,
  ].map(({ definition }) => definition.code),
);

/** Whether a request failed because of its receiver or address. All other errors are the gateway's own. */
export function isFaultOfReceiver(error: unknown): error is GatewayError {
  return error instanceof GatewayError && FAULTS.has(error.code);
}

/**
 * Why a request is denied: the class of an address; `name`, a name of local networks; `port`, a port of other
 * protocols; `rule`, a rule of the tenant; `default`, no rule and `SVC_EGRESS_DEFAULT=deny`.
 */
export type EgressReason = AddressClass | 'name' | 'port' | 'rule' | 'default';

/** A denial on its way to the audit trail; callers get `EgressErrors.denied`. */
export class EgressRefusal extends Error {
  override readonly name = 'EgressRefusal';
  readonly host: string;
  readonly port: number;
  readonly reason: EgressReason;

  constructor(place: { readonly host: string; readonly port: number }, reason: EgressReason) {
    super(sentence(place, reason));
    this.host = place.host;
    this.port = place.port;
    this.reason = reason;
  }
}

/** Names the host that was asked for and the kind of reason, never an address that a name led to. */
function sentence({ host, port }: { host: string; port: number }, reason: EgressReason): string {
  if (reason === 'rule') return `A rule denies this request to ${host}.`;
  if (reason === 'default') return `No rule allows this request to ${host}.`;
  if (reason === 'port') return `Requests to port ${port} are not allowed.`;
  if (reason === 'name') return `${host} is a name of local networks.`;
  return `${host} does not lead to a public address (${reason}).`;
}

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
 * The error for the caller when a connection fails. The original text names addresses, so that only its code is passed
 * on; the error itself is the `cause`, for the log.
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
