import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';

/** The part of a request that says where it came from; Node's `IncomingMessage` is one. */
export interface AddressedRequest {
  readonly httpVersion?: string;
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The address of a caller whose connection has none (a Unix socket, or a socket that is closed already). */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Makes the function that finds a caller's IP address. `X-Forwarded-For` counts only as far as the addresses that
 * passed it on are trusted; an entry that is no address ends the search at the proxy that sent it.
 *
 * @param trustedProxies `SVC_TRUSTED_PROXIES`: addresses, CIDRs, or `loopback`, `linklocal`, `uniquelocal`; empty
 * trusts none.
 * @throws TypeError naming the entry that is none of these.
 */
export function createSourceAddress(
  trustedProxies: readonly string[],
): (request: AddressedRequest) => string {
  const trust = proxyAddr.compile(trustedProxies);
  return function sourceAddress(request) {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return UNKNOWN_ADDRESS;
    const nearest = normalizeAddress(peer) ?? UNKNOWN_ADDRESS;
    if (trustedProxies.length === 0 || request.headers['x-forwarded-for'] === undefined) return nearest;
    const hops = proxyAddr.all(request, trust);
    return normalizeAddress(hops.at(-1)) ?? normalizeAddress(hops.at(-2)) ?? nearest;
  };
}

/**
 * Makes the function that tells connections of trusted proxies, which bring what many clients ask for, from others.
 *
 * @param trustedProxies as for `createSourceAddress`
 * @throws TypeError naming the entry that is no address
 */
export function createIsTrustedProxy(
  trustedProxies: readonly string[],
): (socket: AddressedRequest['socket']) => boolean {
  const trust = proxyAddr.compile(trustedProxies);
  return ({ remoteAddress }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/**
 * What one caller is limited by: an IPv4 address, or the /64 network of an IPv6 address, which one subscriber owns
 * whole.
 */
export function addressGroup(address: string): string {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address;
  const network = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return `${network.map((part) => part.toString(16)).join(':')}::/64`;
}

/** By each of these a proxy says that it speaks for somebody else. */
const PROXY_HEADERS = [
  'x-forwarded-for',
  'forwarded',
  'via',
  'x-real-ip',
  'x-forwarded-host',
  'x-forwarded-proto',
] as const;

/**
 * True for a caller on this very machine that nobody else speaks for: the connection comes from the loopback interface,
 * has no header of a proxy (decisions 0.2, protected mode), and is not that of a browser that shows a page of another
 * site. Trusted proxies do not matter here. HTTP/1.0 counts as a proxy: nginx speaks it unless told otherwise, adds no
 * header, and replaces `Host`, so by nothing else are its clients told from those on this machine.
 */
export function isLoopbackCaller(request: AddressedRequest): boolean {
  if (request.httpVersion === '1.0') return false;
  if (PROXY_HEADERS.some((name) => request.headers[name] !== undefined)) return false;
  if (isOfForeignPage(request.headers)) return false;
  const address = normalizeAddress(request.socket.remoteAddress);
  return address !== undefined && (address === '::1' || address.startsWith('127.'));
}

/**
 * Whether a page of another site may have made a browser on this machine send the request. `Origin` names the page, as
 * in forms that are posted to this machine. Browsers mark what pages load without it (frames, images) as `cross-site`.
 * Else the page has the origin of the request: where that has a name of the public DNS, the name has been made to lead
 * here (DNS rebinding), and the page could read the answer.
 */
function isOfForeignPage(headers: AddressedRequest['headers']): boolean {
  const { host, origin } = headers;
  const asked = host === undefined ? 'localhost' : hostnameOf(`http://${host}`);
  if (asked === undefined || (asked.includes('.') && !isIPv4(asked) && !isLoopbackName(asked))) return true;
  if (origin === undefined) return headers['sec-fetch-site'] === 'cross-site';
  const page = hostnameOf(String(origin));
  return page === undefined || (page !== asked && !isLoopbackName(page));
}

function hostnameOf(url: string): string | undefined {
  return URL.parse(url)?.hostname.replace(/\.$/, '');
}

/** True for the names and addresses under which a machine knows itself alone. */
function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}

/** One spelling per address: IPv4-mapped IPv6 as IPv4, no port, no zone; `undefined` for what is no IP address. */
function normalizeAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (isIPv4(text)) return text;
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7);
  const bare = withoutPort(text).replace(/%.*$/, '');
  if (isIPv4(bare)) return bare;
  if (!ipaddr.IPv6.isValid(bare)) return undefined;
  return ipaddr.process(bare).toString();
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  if (text.startsWith('[')) return text.slice(1).replace(/\](:\d{1,5})?$/, '');
  return /^[^:]*:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
}
