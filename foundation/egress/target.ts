import { type Address, parseAddress } from './address-class.ts';
import { EgressErrors } from './errors.ts';

/** The place that a URL names, in the form in which rules and addresses are judged. */
export interface Target {
  /** As it is requested; its host has no trailing dot. */
  readonly url: URL;
  /** A name in lower-case ASCII, or an address without brackets; IPv4 inside IPv6 is given as IPv4. */
  readonly host: string;
  readonly port: number;
  /** The path as WHATWG's URL normalizes it: dot segments resolved, also percent-encoded ones. */
  readonly path: string;
  /** The address that the URL itself names, where its host is no name. */
  readonly address: Address | undefined;
}

/** Characters of a URL at most. */
const MAX_URL = 8192;
const NAME = /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;
const MAX_NAME = 253;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Reads a URL.
 *
 * @throws EgressErrors.malformed for anything but http and https, for user names and passwords in the URL, and for
 * hosts that cannot be names. The text never quotes the URL, which may hold secrets.
 */
export function parseTarget(input: string | URL): Target {
  const text = String(input);
  if (text.length > MAX_URL) throw EgressErrors.malformed(`The URL is longer than ${MAX_URL} characters.`);
  const url = URL.parse(text);
  if (url === null) throw EgressErrors.malformed('The URL cannot be read; it must be absolute.');
  const defaultPort = DEFAULT_PORTS[url.protocol];
  if (defaultPort === undefined) throw EgressErrors.malformed('Only http and https URLs can be requested.');
  if (url.username !== '' || url.password !== '') {
    throw EgressErrors.malformed('The URL holds a user name or password; send them in a header.');
  }
  const host = canonicalHost(url.hostname);
  if (host === undefined) throw EgressErrors.malformed('The host of the URL is no valid name or address.');
  // With the dot it is the same name in DNS, but not in certificates, rules and caches.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  const port = url.port === '' ? defaultPort : Number(url.port);
  return { url, host: host.name, port, path: url.pathname, address: host.address };
}

/**
 * One spelling for a host: what WHATWG's URL makes of it, without brackets and trailing dot; `undefined` for what is
 * none.
 */
export function canonicalHost(
  text: string,
): { readonly name: string; readonly address: Address | undefined } | undefined {
  // Anything beyond a host would make another URL of it.
  if (/[/\\?#@\s]/.test(text)) return undefined;
  const parsed = URL.parse(`http://${text}`);
  if (parsed === null || parsed.port !== '') return undefined;
  const name = parsed.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const address = parseAddress(name);
  if (address !== undefined) return { name: address.toString(), address };
  return NAME.test(name) && name.length <= MAX_NAME ? { name, address } : undefined;
}
