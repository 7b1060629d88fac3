import { canonicalHost } from './target.ts';

/** Which hosts a rule or an entry of `SVC_EGRESS_ALLOW_PRIVATE` speaks of. */
export interface HostPattern {
  /** `any`: `*`; `below`: the subdomains of `host` at any depth, not `host` itself; `exact`: `host` alone. */
  readonly kind: 'any' | 'below' | 'exact';
  /** In the form of `Target.host`; empty for `any`. */
  readonly host: string;
  /** Undefined: every port. */
  readonly port: number | undefined;
}

/** Characters of a pattern at most: a whole domain name, `*.`, and a port. */
export const MAX_HOST_PATTERN = 261;

/**
 * Reads `api.example.com`, `*.example.com`, `*`, `192.0.2.7` or `[2001:db8::7]`, each with an optional `:port`. Names may be
 * international. `undefined` for anything else.
 */
export function parseHostPattern(text: string): HostPattern | undefined {
  if (text.length > MAX_HOST_PATTERN) return undefined;
  const { name, port } = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>[1-9]\d{0,4}))?$/.exec(text)?.groups ?? {};
  if (name === undefined || Number(port ?? 1) > 65_535) return undefined;
  const ports = { port: port === undefined ? undefined : Number(port) };
  if (name === '*') return { kind: 'any', host: '', ...ports };
  const isBelow = name.startsWith('*.');
  const host = canonicalHost(isBelow ? name.slice(2) : name);
  if (host === undefined || (isBelow && host.address !== undefined)) return undefined;
  return { kind: isBelow ? 'below' : 'exact', host: host.name, ...ports };
}

/** The one spelling of a pattern, which `parseHostPattern` reads again. */
export function formatHostPattern({ kind, host, port }: HostPattern): string {
  const name = host.includes(':') ? `[${host}]` : host;
  const pattern = { any: '*', below: `*.${name}`, exact: name }[kind];
  return port === undefined ? pattern : `${pattern}:${port}`;
}

/** True where the pattern speaks of this host and port. */
export function matchesHost(pattern: HostPattern, host: string, port: number): boolean {
  if (pattern.port !== undefined && pattern.port !== port) return false;
  if (pattern.kind === 'any') return true;
  return pattern.kind === 'exact' ? host === pattern.host : host.endsWith(`.${pattern.host}`);
}
