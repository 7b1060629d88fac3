/**
 * What is known of how well something works: successes and failures, each discounted by every use that came after it. Never by time alone: what
 * nobody used has not become worse.
 */
export interface Evidence {
  readonly wins: number;
  readonly losses: number;
}

/** Nothing is known. */
export const NO_EVIDENCE: Evidence = { wins: 0, losses: 0 };

/** What an earlier use counts beside the one after it. 14 uses in all are remembered at most. */
export const DISCOUNT = 0.93;

/** Where confidence begins, and what it returns to: nothing is known. */
export const PRIOR = 0.5;

/** Uses at which the evidence counts as much as the prior. */
const PRIOR_STRENGTH = 3;

/** How far from the observed rate its bounds lie, in standard deviations: 69 of 100 rates are above the lower one. */
const CAUTION = 0.5;

/** The evidence after one more use. */
export function afterUse({ wins, losses }: Evidence, isSuccess: boolean, discount = DISCOUNT): Evidence {
  return {
    wins: wins * discount + (isSuccess ? 1 : 0),
    losses: losses * discount + (isSuccess ? 0 : 1),
  };
}

/** What is left of the evidence when something else was used in its place: it fades towards knowing nothing, and slower than by a use of its own. */
const FADE = 0.97;

/** The evidence after a task of its kind that used something else. */
export function afterOther({ wins, losses }: Evidence): Evidence {
  return { wins: wins * FADE, losses: losses * FADE };
}

/** The share of successes that is to be expected of the next use: the discounted rate, shrunk towards the prior. 0 to 1. */
export function expectedRate({ wins, losses }: Evidence): number {
  return (wins + PRIOR_STRENGTH * PRIOR) / (wins + losses + PRIOR_STRENGTH);
}

/** The lower bound of the discounted rate, shrunk towards the prior where uses are few: 0.5 without any. 0 to 1. */
export function confidence(evidence: Evidence): number {
  return shrunk(evidence, wilson(evidence, -CAUTION));
}

/** The upper bound, shrunk in the same way: how good it may yet turn out to be. 0 to 1. */
export function potential(evidence: Evidence): number {
  return shrunk(evidence, wilson(evidence, CAUTION));
}

function shrunk({ wins, losses }: Evidence, bound: number): number {
  const uses = wins + losses;
  return (uses * bound + PRIOR_STRENGTH * PRIOR) / (uses + PRIOR_STRENGTH);
}

/** One end of Wilson's interval of a rate; `z` below zero is the lower one. */
function wilson({ wins, losses }: Evidence, z: number): number {
  const uses = wins + losses;
  if (uses === 0) return PRIOR;
  const rate = wins / uses;
  const z2 = z * z;
  const spread = Math.sqrt((rate * (1 - rate)) / uses + z2 / (4 * uses * uses));
  return (rate + z2 / (2 * uses) + z * spread) / (1 + z2 / uses);
}
