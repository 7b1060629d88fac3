import type { FieldError } from '../base/gateway-error.ts';
import { formatHostPattern, parseHostPattern } from './host-pattern.ts';
import type { EgressRule } from './rule.ts';
import { MAX_PATH_PREFIX } from './rule-table.ts';

/** What an administrator says about a rule. */
export interface EgressRuleSettings extends Pick<EgressRule, 'tenantId' | 'hostPattern' | 'action'> {
  /** Default `/`, which speaks of every path. */
  readonly pathPrefix?: string | undefined;
  /** -1,000,000 to 1,000,000; default 0. */
  readonly priority?: number | undefined;
}

const MAX_PRIORITY = 1_000_000;

/** What is wrong with a rule, by the names of its members on the wire; empty when it is good. */
export function ruleProblems(settings: EgressRuleSettings): readonly FieldError[] {
  const { hostPattern, pathPrefix = '/', action, priority = 0 } = settings;
  const problems: FieldError[] = [];
  const refuse = (member: string, message: string) => problems.push({ pointer: `/body/${member}`, message });
  if (parseHostPattern(hostPattern) === undefined) {
    refuse('host_pattern', 'must be a host, *.example.com or *, with an optional port: api.example.com:8443');
  }
  if (!/^\/[^?#\p{Cc}]*$/u.test(pathPrefix) || normalPath(pathPrefix).length > MAX_PATH_PREFIX) {
    refuse('path_prefix', `must be a path without query, ${MAX_PATH_PREFIX} characters at most: /v1`);
  }
  if (action !== 'allow' && action !== 'deny') refuse('action', 'must be allow or deny');
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY) {
    refuse('priority', `must be a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}`);
  }
  return problems;
}

/** A good rule as it is stored: hosts and paths in the one spelling in which requests are compared with them. */
export function storedForm(
  settings: EgressRuleSettings,
): Pick<EgressRule, 'hostPattern' | 'pathPrefix' | 'action' | 'priority'> {
  const { hostPattern, pathPrefix = '/', action, priority = 0 } = settings;
  const pattern = parseHostPattern(hostPattern);
  return {
    hostPattern: pattern === undefined ? hostPattern : formatHostPattern(pattern),
    pathPrefix: normalPath(pathPrefix),
    action,
    priority,
  };
}

/** What WHATWG's URL makes of a path, as it does of every requested one. */
function normalPath(path: string): string {
  const url = new URL('http://host/');
  url.pathname = path;
  return url.pathname;
}
