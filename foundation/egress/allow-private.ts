import ipaddr from 'ipaddr.js';
import { type Address, classifyAddress, contains, parseAddress } from './address-class.ts';
import type { EgressReason } from './errors.ts';
import { type HostPattern, matchesHost, parseHostPattern } from './rule.ts';

/** A host and port that are to be called. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Which addresses may be called: public ones, and what the operator lists in `SVC_EGRESS_ALLOW_PRIVATE`. */
export type AddressPolicy = ReturnType<typeof createAddressPolicy>;

/**
 * Names that never belong to the public DNS (RFC 6761, RFC 6762 and its appendix G, RFC 8375, `.internal` of ICANN).
 */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/;

type Entry =
  | { readonly kind: 'network'; readonly network: readonly [Address, number] }
  | { readonly kind: 'address'; readonly address: string; readonly port: number | undefined }
  | { readonly kind: 'host'; readonly pattern: HostPattern };

/**
 * What is wrong with an entry of `SVC_EGRESS_ALLOW_PRIVATE`, or `undefined`. Good are `10.1.0.0/16`, `10.1.2.3`,
 * `[fd00::7]`, `db.internal`, `*.svc.cluster.local`, each host or address also with a `:port`.
 */
export function allowPrivateProblem(text: string): string | undefined {
  return parseEntry(text) === undefined
    ? 'is not a host, address or network, write build.internal:8080, 10.1.2.3 or 10.0.0.0/8'
    : undefined;
}

/**
 * Makes the policy. An entry with a host opens every address of that name, a network or address opens it under every
 * name. Cloud metadata addresses are opened by their own address alone, never by a network or name around them.
 *
 * @throws Error naming an entry that `allowPrivateProblem` refuses
 */
export function createAddressPolicy(allowPrivate: readonly string[]) {
  const entries = allowPrivate.map((text) => {
    const entry = parseEntry(text);
    if (entry !== undefined) return entry;
    throw new Error(`SVC_EGRESS_ALLOW_PRIVATE: "${text}" ${allowPrivateProblem(text)}`);
  });
  const hosts = entries.flatMap((entry) => (entry.kind === 'host' ? [entry.pattern] : []));
  const addresses = entries.flatMap((entry) => (entry.kind === 'address' ? [entry] : []));
  const networks = entries.flatMap((entry) => (entry.kind === 'network' ? [entry.network] : []));

  const isNamed = ({ host, port }: Place) => hosts.some((pattern) => matchesHost(pattern, host, port));
  const isListed = (address: Address, { port }: Place) => {
    const text = address.toString();
    return addresses.some((entry) => entry.address === text && (entry.port ?? port) === port);
  };
  const opensAddresses = addresses.length + networks.length > 0;

  return {
    /** Why nothing has to be resolved to refuse this name; `undefined` when its addresses decide. */
    refuseName: (place: Place): EgressReason | undefined =>
      isLocalName(place.host) && !isNamed(place) && !opensAddresses ? 'name' : undefined,
    /** True for a name that the machine's own resolver looks up, hosts file and search domains included. */
    isLocal: (place: Place) => isLocalName(place.host) || isNamed(place),
    /** Why an address may not be called under this name; `undefined` when it may. */
    refuseAddress(address: Address, place: Place): EgressReason | undefined {
      if (isListed(address, place)) return undefined;
      const kind = classifyAddress(address);
      if (kind === 'metadata') return kind;
      if (isNamed(place) || networks.some((network) => contains(network, address))) return undefined;
      return kind ?? (isLocalName(place.host) ? 'name' : undefined);
    },
  };
}

/** A single label (`metadata`, `redis`) is completed by search domains, or found in the hosts file: local as well. */
function isLocalName(host: string): boolean {
  if (parseAddress(host) !== undefined) return false;
  return !host.includes('.') || LOCAL_NAMES.test(host);
}

function parseEntry(text: string): Entry | undefined {
  if (text.includes('/')) return parseNetwork(text);
  // An IPv6 address without brackets is not mistaken for a port.
  const bare = parseAddress(text);
  if (bare !== undefined) return { kind: 'address', address: bare.toString(), port: undefined };
  const pattern = parseHostPattern(text);
  if (pattern === undefined || pattern.kind === 'any') return undefined;
  const isAddress = parseAddress(pattern.host) !== undefined;
  return isAddress
    ? { kind: 'address', address: pattern.host, port: pattern.port }
    : { kind: 'host', pattern };
}

function parseNetwork(text: string): Entry | undefined {
  const [base = ''] = text.split('/');
  const address = parseAddress(base);
  // Judged addresses are never IPv4-mapped, so a mapped network would open nothing: the IPv4 network is meant.
  if (address === undefined || (base.includes(':') && address.kind() === 'ipv4')) return undefined;
  return ipaddr.isValidCIDR(text) ? { kind: 'network', network: ipaddr.parseCIDR(text) } : undefined;
}
