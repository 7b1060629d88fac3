import { parseAddress } from './address-class.ts';
import type { AddressPolicy, Place } from './allow-private.ts';
import { EgressRefusal } from './errors.ts';
import type { Resolve } from './resolve.ts';
import { type EgressAction, evaluate } from './rule.ts';
import type { JudgedRules } from './rules.ts';
import type { Target } from './target.ts';

/** Decides whether a request may leave, in two steps: before it is sent, and where a connection is opened for it. */
export interface Admission {
  /**
   * Throws an `EgressRefusal` for what port, host, address literal or the tenant's rules refuse. Asks no DNS server.
   */
  admit(tenantId: string, target: Target): Promise<void>;
  /**
   * The addresses of a name, which may all be called; at least one. Throws an `EgressRefusal` when one of them may not:
   * a name with a public and a private address is the mark of DNS rebinding, and choosing would make it a matter of
   * luck.
   */
  addressesOf(place: Place): Promise<readonly string[]>;
}

/** Addresses of one name that a connection may try, one after the other. */
const MAX_ADDRESSES = 64;

/** Makes it. `otherwise` is what holds where no rule speaks of a request. */
export function createAdmission(
  policy: AddressPolicy,
  rules: Pick<JudgedRules, 'of'>,
  otherwise: EgressAction,
  resolve: Resolve,
): Admission {
  return {
    async admit(tenantId, target) {
      if (BLOCKED_PORTS.has(target.port)) throw new EgressRefusal(target, 'port');
      const reason =
        target.address === undefined
          ? policy.refuseName(target)
          : policy.refuseAddress(target.address, target);
      if (reason !== undefined) throw new EgressRefusal(target, reason);
      const { action, byRule } = evaluate(await rules.of(tenantId), target, otherwise);
      if (action === 'deny') throw new EgressRefusal(target, byRule ? 'rule' : 'default');
    },
    async addressesOf(place) {
      const answers = await resolve(place.host, policy.isLocal(place) ? 'local' : 'dns');
      for (const answer of answers) {
        const address = parseAddress(answer);
        const reason = address === undefined ? 'reserved' : policy.refuseAddress(address, place);
        if (reason !== undefined) throw new EgressRefusal(place, reason);
      }
      return answers.slice(0, MAX_ADDRESSES);
    },
  };
}

/**
 * Ports whose protocols can be talked into acting on an HTTP request (mail, IRC, X11 …): the list that browsers refuse
 * (WHATWG Fetch, "bad port"). It holds for addresses that the operator allows, too.
 */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
