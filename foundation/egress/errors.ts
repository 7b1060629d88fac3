import { defineErrors } from '../base/gateway-error.ts';
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
  busy: { code: 'egress.busy', kind: 'unavailable', title: 'Too many outbound requests are open' },
  invalidRule: { code: 'egress.invalid-rule', kind: 'invalid', title: 'The egress rule is not valid' },
  tooManyRules: {
    code: 'egress.too-many-rules',
    kind: 'conflict',
    title: 'The tenant has too many egress rules',
  },
});

/**
 * Why a request is denied: the class of an address; `name`, a name of local networks; `port`, a port of other protocols;
 * `rule`, a rule of the tenant; `default`, no rule and `SVC_EGRESS_DEFAULT=deny`.
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
