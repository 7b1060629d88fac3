import { type HostPattern, matchesHost, parseHostPattern } from './host-pattern.ts';
import { allReadings, isBelow, pathReadings } from './path-readings.ts';

/** What a rule says about the requests that it speaks of. */
export type EgressAction = 'allow' | 'deny';

/** A rule of a tenant about its outbound requests (decisions 1.12). */
export interface EgressRule {
  readonly id: string;
  readonly tenantId: string;
  /** `api.example.com`, `*.example.com` (subdomains at any depth, not the domain itself) or `*`, with an optional `:port`. */
  readonly hostPattern: string;
  /** Whole segments: `/v1` speaks of `/v1` and `/v1/x`, not of `/v1x`; `/` of everything. */
  readonly pathPrefix: string;
  readonly action: EgressAction;
  /** The highest one decides. */
  readonly priority: number;
  readonly createdAt: Date;
}

/** The rules of a tenant, ready to be asked. */
export interface RuleSet {
  readonly rules: readonly CompiledRule[];
}

interface CompiledRule {
  readonly rule: Pick<EgressRule, 'hostPattern' | 'pathPrefix' | 'action' | 'priority'>;
  readonly host: HostPattern;
  /** The readings of the prefix, see `pathReadings`. */
  readonly prefixes: readonly string[];
}

/** What the rules say, and whether one of them said it. */
export interface Verdict {
  readonly action: EgressAction;
  readonly byRule: boolean;
}

/** Puts rules in the order in which they decide. One whose pattern cannot be read is an error of whoever stored it. */
export function compileRules(rules: readonly CompiledRule['rule'][]): RuleSet {
  const compiled = rules.map((rule) => {
    const host = parseHostPattern(rule.hostPattern);
    if (host === undefined) throw new Error(`an egress rule has the host pattern ${rule.hostPattern}`);
    return { rule, host, prefixes: allReadings(rule.pathPrefix) };
  });
  return { rules: compiled.sort(byPrecedence) };
}

/**
 * What the rules say about a request: the highest priority decides, then a deny before an allow; where no rule speaks of
 * it, `otherwise`. A path that servers read in different ways is allowed only if it is in every way.
 */
export function evaluate(
  { rules }: RuleSet,
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

/** Higher priority, then deny, then the more specific: for who reads along, since equals say the same. */
function byPrecedence(a: CompiledRule, b: CompiledRule): number {
  if (a.rule.priority !== b.rule.priority) return b.rule.priority - a.rule.priority;
  if (a.rule.action !== b.rule.action) return a.rule.action === 'deny' ? -1 : 1;
  return specificity(b) - specificity(a);
}

function specificity({ host, prefixes }: CompiledRule): number {
  const kind = { any: 0, below: 1, exact: 2 }[host.kind];
  // Each part is below the factor of the one before it: ports 0 or 1, hosts 255, paths 1024 characters at most.
  return (
    ((kind * 256 + host.host.length) * 2 + (host.port === undefined ? 0 : 1)) * 2048 +
    (prefixes[0]?.length ?? 0)
  );
}
