import { type OutputGuard, replaceMatches } from 'agent-gateway/contracts/agent-engine';
import type { RuleSet } from './rules.ts';

const REMOVED = '[removed]';
export const REFUSAL = 'This breaks the rules of the house.';

/** What was done to a text. */
export type Action = 'refused' | 'redacted';

/** What the rules make of a text: without `text` it is refused. */
export interface Judgement {
  readonly action: Action | undefined;
  readonly text: string | undefined;
}

/** The rules of one tenant. */
export interface Moderator {
  judge(text: string): Judgement;
  /** Judges an answer as it is made, however it is cut into pieces. */
  stream(onAction: (action: Action) => void): OutputGuard;
}

/** Undefined when no rule is for the tenant. */
export function moderatorFor(tenantId: string, sets: readonly RuleSet[]): Moderator | undefined {
  const rules = sets.filter(({ tenants }) => tenants?.includes(tenantId) ?? true).flatMap((set) => set.rules);
  if (rules.length === 0) return undefined;
  const anyOf = (action: 'refuse' | 'redact', flags: string) => {
    const patterns = rules.filter((rule) => rule.action === action).map(({ pattern }) => `(?:${pattern})`);
    return new RegExp(patterns.join('|') || '(?!)', flags);
  };
  const [refuse, redact] = [anyOf('refuse', 'i'), anyOf('redact', 'gi')];
  const longest = Math.max(...rules.map((rule) => rule.longest));
  return {
    judge(text) {
      if (refuse.test(text)) return { action: 'refused', text: undefined };
      const left = text.replace(redact, REMOVED);
      return { action: left === text ? undefined : 'redacted', text: left };
    },
    stream(onAction) {
      // Holds back as many characters as the longest match has, so that no match leaves in two halves, those of
      // `refuse` neither.
      const redacting = replaceMatches(redact, REMOVED, longest);
      return async (text, at) => {
        if (refuse.test(text)) {
          onAction('refused');
          return { refuse: REFUSAL };
        }
        const verdict = await redacting(text, at);
        if (verdict !== undefined && 'replace' in verdict) {
          const before = text.slice(0, text.length - (verdict.hold ?? 0));
          if (verdict.replace !== before) onAction('redacted');
        }
        return verdict;
      };
    },
  };
}
