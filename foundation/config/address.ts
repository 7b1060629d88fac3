import { isIP, isIPv6 } from 'node:net';

/** Where a server listens. */
export interface Address {
  /** IP address (version 6 without brackets) or host name. */
  readonly host: string;
  /** 0 lets the system choose a free port. */
  readonly port: number;
}

/** What an address looks like, for editors (JSON Schema); `parseAddress` is stricter. */
export const ADDRESS_PATTERN = '^(\\[[0-9A-Fa-f:.]+\\]|[^\\[\\]:\\s]*):(\\d{1,5})$';

const ADDRESS = new RegExp(ADDRESS_PATTERN);
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;
const EVERY_INTERFACE = '0.0.0.0';

/** Reads `host:port`, `[v6]:port` or `:port` (every interface). Returns undefined when the text is none of them. */
export function parseAddress(text: string): Address | undefined {
  const match = ADDRESS.exec(text);
  if (match === null) return undefined;
  const port = Number(match[2]);
  if (port > 65_535) return undefined;
  const written = match[1] ?? '';
  if (written === '') return { host: EVERY_INTERFACE, port };
  if (written.startsWith('[')) {
    const host = written.slice(1, -1);
    return isIPv6(host) ? { host, port } : undefined;
  }
  return isHost(written) ? { host: written, port } : undefined;
}

/** The text of an address, which `parseAddress` reads back. */
export function formatAddress({ host, port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Is this an IP address (version 6 without brackets) or a host name? `1.2.3.999` is neither. */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return !/^[\d.]+$/.test(text) && HOST_NAME.test(text);
}
