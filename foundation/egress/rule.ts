import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../data/database.ts';
import { canonicalHost } from './target.ts';

/** Characters of a pattern at most: a whole domain name, `*.`, and a port. */
const MAX_HOST_PATTERN = 261;

/** What a rule says about the requests that it speaks of. */
export type EgressAction = 'allow' | 'deny';

/** A rule of a tenant about its outbound requests (decisions 1.12). */
export interface EgressRule {
  readonly id: string;
  readonly tenantId: string;
  /**
   * `api.example.com`, `*.example.com` (subdomains at any depth, not the domain itself) or `*`, with an optional
   * `:port`.
   */
  readonly hostPattern: string;
  /** Whole segments: `/v1` speaks of `/v1` and `/v1/x`, not of `/v1x`; `/` of everything. */
  readonly pathPrefix: string;
  readonly action: EgressAction;
  /** The highest one decides. */
  readonly priority: number;
  readonly createdAt: Date;
}

/** The rules of a tenant, ready to be asked, in the order in which they decide. */
export type RuleSet = readonly CompiledRule[];

interface CompiledRule {
  readonly rule: Pick<EgressRule, 'hostPattern' | 'pathPrefix' | 'action' | 'priority'>;
  readonly host: HostPattern;
  /** The readings of the prefix, see `pathReadings`. */
  readonly prefixes: readonly string[];
}

/** What the rules say, and whether one of them said it. */
interface Verdict {
  readonly action: EgressAction;
  readonly byRule: boolean;
}

/**
 * Puts rules in the order in which they decide. A pattern that cannot be read is an error of the code that stored it.
 */
export function compileRules(rules: readonly CompiledRule['rule'][]): RuleSet {
  const compiled = rules.map((rule): CompiledRule => {
    const host = parseHostPattern(rule.hostPattern);
    if (host === undefined) throw new Error(`an egress rule has the host pattern ${rule.hostPattern}`);
    return { rule, host, prefixes: allReadings(rule.pathPrefix) };
  });
  return compiled.sort(byPrecedence);
}

/**
 * What the rules say about a request: the highest priority decides, then a deny before an allow; where no rule speaks
 * of it, `otherwise`. A path that servers read in different ways is allowed only if it is in every way.
 */
export function evaluate(
  rules: RuleSet,
  request: { readonly host: string; readonly port: number; readonly path: string },
  otherwise: EgressAction,
): Verdict {
  const ofHost = rules.filter(({ host }) => matchesHost(host, request.host, request.port));
  const verdicts = pathReadings(request.path).map((path, reading): Verdict => {
    const decisive = ofHost.find(({ prefixes }) => isBelow(path, prefixes[reading] as string));
    return decisive === undefined
      ? { action: otherwise, byRule: false }
      : { action: decisive.rule.action, byRule: true };
  });
  return verdicts.find(({ action }) => action === 'deny') ?? (verdicts[0] as Verdict);
}

/** Higher priority, then deny. Rules that are equal in both say the same. */
function byPrecedence({ rule: a }: CompiledRule, { rule: b }: CompiledRule): number {
  return b.priority - a.priority || Number(b.action === 'deny') - Number(a.action === 'deny');
}

/** Characters of a path prefix at most. */
export const MAX_PATH_PREFIX = 1024;

/** The egress rules of tenants. Written once; a rule is deleted, never changed. */
export const EgressRuleTable = defineEntity({
  name: 'EgressRule',
  tableName: 'egress_rules',
  indexes: [{ name: 'egress_rules_tenant', properties: ['tenantId', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    hostPattern: column.string(MAX_HOST_PATTERN),
    pathPrefix: column.string(MAX_PATH_PREFIX),
    /** `allow` or `deny`. */
    action: column.string(8).$type<EgressAction>(),
    priority: column.integer(),
    createdAt: column.time(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('egress_rules')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (column) => column.notNull())
      .addColumn('host_pattern', types.string(261), (column) => column.notNull())
      .addColumn('path_prefix', types.string(1024), (column) => column.notNull())
      .addColumn('action', types.string(8), (column) => column.notNull())
      .addColumn('priority', types.integer, (column) => column.notNull())
      .addColumn('created_at', types.time, (column) => column.notNull()),
    schema.index('egress_rules', 'tenant', ['tenant_id', 'created_at', 'id']),
  ],
};

/** What egress keeps in the database. The name of its owner can be no plugin's. */
export const egressRegistration: Registration = {
  owner: 'kernel.egress',
  entities: [{ entity: EgressRuleTable, impersonal: 'hosts and paths that administrators allow or deny' }],
  migrations: [initial],
};

/** Which hosts a rule or an entry of `SVC_EGRESS_ALLOW_PRIVATE` speaks of. */
export interface HostPattern {
  /** `any`: `*`; `below`: the subdomains of `host` at any depth, not `host` itself; `exact`: `host` alone. */
  readonly kind: 'any' | 'below' | 'exact';
  /** In the form of `Target.host`; empty for `any`. */
  readonly host: string;
  /** Undefined: every port. */
  readonly port: number | undefined;
}

/**
 * Reads `api.example.com`, `*.example.com`, `*`, `192.0.2.7` or `[2001:db8::7]`, each with an optional `:port`. Names
 * may be international. `undefined` for anything else.
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

/** Rounds of decoding that some server could do; what is still encoded then is an ordinary character to all of them. */
const ROUNDS = 4;
/** Characters that servers read differently: percent-encoding, backslashes, parameters, empty and dotted segments. */
const AMBIGUOUS = /[%\\;]|\/\.|\/\//;

/**
 * The ways in which a server may read a path: as it is, and as it becomes by decoding once, twice … with empty
 * segments, `;parameters` and dot segments removed. The number of readings is fixed, so that those of a path and of a
 * prefix correspond; a path that all servers read alike has one.
 */
function pathReadings(path: string): readonly string[] {
  return AMBIGUOUS.test(path) ? allReadings(path) : [path];
}

/** The same, always with all readings: for the prefix of a rule. */
function allReadings(path: string): readonly string[] {
  const readings = [oneSpelling(path)];
  for (let round = 1; round <= ROUNDS; round += 1) readings.push(read(readings[round - 1] as string));
  return readings;
}

/** True where a reading of a path lies at or below the same reading of a prefix, by whole segments. */
function isBelow(path: string, prefix: string): boolean {
  const base = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
  return path.startsWith(base) && (path.length === base.length || path[base.length] === '/');
}

/** `%c3` and `%C3` are the same to every server (RFC 3986, 2.1). */
function oneSpelling(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase());
}

/** One round of decoding. Of ASCII alone: no separator or dot is written with more than one byte. */
function read(path: string): string {
  const decoded = path.replace(/%[0-7][0-9a-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  const segments: string[] = [];
  for (const segment of decoded.replaceAll('\\', '/').split('/')) {
    const name = segment.replace(/;.*$/s, '');
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(name);
  }
  return oneSpelling(`/${segments.join('/')}`);
}
