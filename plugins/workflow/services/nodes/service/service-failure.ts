import { EgressErrors, GatewayError } from 'agent-gateway';
import type { JsonObject } from '../../../contract/graph.ts';
import { StepFailure } from '../../../contract/node-types.ts';

const ASK =
  'Ask the operator of the gateway: rules for hosts are at /admin/v1/egress/rules, private addresses are opened with SVC_EGRESS_ALLOW_PRIVATE.';

/** Codes of steps by the codes of egress. */
const KINDS: Readonly<Record<string, { readonly code: string; readonly isRetryable: boolean }>> = {
  [EgressErrors.denied.definition.code]: { code: 'egress_denied', isRetryable: false },
  [EgressErrors.malformed.definition.code]: { code: 'bad_request', isRetryable: false },
  [EgressErrors.tooLarge.definition.code]: { code: 'response_too_large', isRetryable: false },
  [EgressErrors.tooManyRedirects.definition.code]: { code: 'too_many_redirects', isRetryable: false },
  [EgressErrors.badRedirect.definition.code]: { code: 'bad_redirect', isRetryable: false },
  [EgressErrors.timeout.definition.code]: { code: 'service_timeout', isRetryable: true },
  [EgressErrors.unreachable.definition.code]: { code: 'service_unreachable', isRetryable: true },
};

const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_OSSL|EPROTO)/;
const DNS_CALL = /^(?:query|getaddrinfo)/;

/**
 * The failure of a step for what egress threw: refusals are final, what may pass is not. The words are those of egress, which name the host
 * and never the URL. What is nobody's catalogued error is thrown as it is.
 */
export function egressFailure(thrown: unknown, record: JsonObject): StepFailure {
  if (!(thrown instanceof GatewayError)) throw thrown;
  const { code, isRetryable } = KINDS[thrown.code] ?? { code: 'service_failed', isRetryable: true };
  const message = code === 'egress_denied' ? `${thrown.detail} ${ASK}` : thrown.detail;
  return new StepFailure(code === 'service_unreachable' ? closer(thrown) : code, message, {
    isRetryable,
    record,
    cause: thrown,
  });
}

/** Why nobody was reached, as far as the system told. */
function closer({ cause }: Error): string {
  const { code, syscall } = (cause ?? {}) as { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof syscall === 'string' && DNS_CALL.test(syscall)) return 'service_dns';
  if (typeof code === 'string' && TLS.test(code)) return 'service_tls';
  return 'service_unreachable';
}

/** Statuses that may pass: everything else below 500 would be answered alike (decisions 2.6). */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/** True for an answer after which another attempt makes sense. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || PASSING.has(status);
}
