import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IP address in the form in which it is judged: IPv4 that travels inside IPv6 is IPv4 here. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Why an address is not a place on the public internet. */
export type AddressClass =
  | 'metadata'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'carrier-nat'
  | 'multicast'
  | 'broadcast'
  | 'unspecified'
  | 'documentation'
  | 'benchmark'
  | 'tunnel'
  | 'reserved';

type Table = readonly (readonly [network: string, kind: AddressClass])[];

/**
 * What clouds tell their machines, credentials included. Some of these lie in ranges of the tables below, one (Azure's)
 * in the middle of the public internet.
 */
const METADATA = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
]);

/** IANA's special-purpose registry for IPv4 (RFC 6890), the narrower network first. */
const IPV4: Table = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-nat'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.2.0/24', 'documentation'],
  ['192.0.0.0/24', 'reserved'],
  ['192.88.99.0/24', 'tunnel'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmark'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
];

/** The same for IPv6. What is not global unicast (2000::/3) and not named here is `reserved`. */
const IPV6: Table = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['64:ff9b:1::/48', 'private'],
  ['2001::/32', 'tunnel'],
  ['2001:2::/48', 'benchmark'],
  ['2001:db8::/32', 'documentation'],
  ['2001::/23', 'reserved'],
  ['2002::/16', 'tunnel'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
];

const networksOf = (table: Table) =>
  table.map(([network, kind]) => ({ network: ipaddr.parseCIDR(network), kind }));
const NETWORKS = { ipv4: networksOf(IPV4), ipv6: networksOf(IPV6) };
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/**
 * IPv4-mapped addresses (RFC 4291) and the well-known prefix of NAT64 (RFC 6052): what is reached is the IPv4 address.
 */
const WRAPPERS = ['::ffff:0:0/96', '64:ff9b::/96'].map((network) => ipaddr.parseCIDR(network));

/** The address that a text in the usual notation names, without zone; `undefined` for any other text. */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  const address = ipaddr.parse(family === 4 ? text : hexadecimal(text.replace(/%.*$/, '')));
  if (!isIpv6(address) || !WRAPPERS.some((network) => contains(network, address))) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

/** The class that keeps an address from being called; `undefined` for a public one. */
export function classifyAddress(address: Address): AddressClass | undefined {
  if (METADATA.has(address.toString())) return 'metadata';
  const kind = NETWORKS[address.kind()].find(({ network }) => contains(network, address))?.kind;
  if (kind !== undefined) return kind;
  return isIpv6(address) && !contains(GLOBAL_UNICAST, address) ? 'reserved' : undefined;
}

/** True for an address inside a network; never across families. */
export function contains([base, bits]: readonly [Address, number], address: Address): boolean {
  return base.kind() === address.kind() && address.match(base, bits);
}

/** The spelling without dots: ipaddr.js takes `::127.0.0.1` for `::ffff:127.0.0.1`, which is another address. */
function hexadecimal(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function isIpv6(address: Address): address is ipaddr.IPv6 {
  return address.kind() === 'ipv6';
}
