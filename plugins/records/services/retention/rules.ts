import { ConfigurationError } from 'agent-gateway';
import { FOREVER, parseKeep, type RetentionRule } from '../../contract.ts';

/**
 * What the tenant, the operator and the plugin set for a kind. Milliseconds; null keeps records forever; undefined: not
 * set.
 */
export interface RetentionSayings {
  readonly tenant?: { readonly keepMs: number | null; readonly deletesFrom: Date } | undefined;
  readonly deployment?: number | null | undefined;
  readonly plugin?: number | undefined;
}

/** The rule that follows: the tenant's own, else the operator's, else the plugin's. Pure. */
export function ruleOf({ tenant, deployment, plugin }: RetentionSayings): RetentionRule {
  if (tenant !== undefined) {
    const deletesFrom = tenant.keepMs === null ? null : tenant.deletesFrom;
    return { keep: tenant.keepMs, source: 'tenant', deletesFrom };
  }
  if (deployment !== undefined) return { keep: deployment, source: 'deployment', deletesFrom: null };
  return { keep: plugin ?? null, source: 'default', deletesFrom: null };
}

/** The moment before which records go now; undefined where none do. Pure. `now` is in milliseconds. */
export function deletedBefore({ keep, deletesFrom }: RetentionRule, now: number): Date | undefined {
  if (keep === null || (deletesFrom !== null && deletesFrom.getTime() > now)) return undefined;
  return new Date(now - keep);
}

/**
 * Reads `SVC_RETENTION`: milliseconds by kind, null for good.
 *
 * @throws ConfigurationError naming all entries that are no `kind=duration`, or whose duration is out of bounds
 */
export function readRetention(entries: readonly string[]): ReadonlyMap<string, number | null> {
  const rules = new Map<string, number | null>();
  const problems: string[] = [];
  for (const entry of entries) {
    const [, kind, text = ''] = ENTRY.exec(entry) ?? [];
    const keep = parseKeep(text);
    if (kind === undefined || keep === undefined)
      problems.push(
        `"${entry}" is no \`kind=duration\` from 1h to 36500d, like sessions=90d or sessions=${FOREVER}`,
      );
    else if (rules.has(kind)) problems.push(`"${kind}" is named twice`);
    else rules.set(kind, keep);
  }
  if (problems.length === 0) return rules;
  throw new ConfigurationError(problems.map((message) => ({ name: 'SVC_RETENTION', message })));
}

const ENTRY = /^([a-z][a-z0-9_]{0,63})=(\S+)$/;
