/**
 * What is known of how well a component works: successes and failures, each discounted by every use that came after it.
 * Never by time alone: a component that was not used has not become worse.
 */
export interface Evidence {
  readonly wins: number;
  readonly losses: number;
}

/** Nothing is known. */
export const NO_EVIDENCE: Evidence = { wins: 0, losses: 0 };

/** The weight of a use relative to the next one. All uses together count as 14 at most. */
export const DISCOUNT = 0.93;

/** The confidence without evidence, at which it begins and to which it returns. */
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

/**
 * The factor on a component's evidence when another one was used in its place: the evidence fades towards none, slower
 * than by a use of its own.
 */
const FADE = 0.97;

/** The evidence of a component after a task of its class that did not use it. */
export function afterOther({ wins, losses }: Evidence): Evidence {
  return { wins: wins * FADE, losses: losses * FADE };
}

/**
 * The share of successes that is to be expected of the next use: the discounted rate, shrunk towards the prior. 0 to 1.
 */
export function expectedRate({ wins, losses }: Evidence): number {
  return (wins + PRIOR_STRENGTH * PRIOR) / (wins + losses + PRIOR_STRENGTH);
}

/** The lower bound of the discounted rate, shrunk towards the prior where uses are few: 0.5 without any. 0 to 1. */
export function confidence(evidence: Evidence): number {
  return shrunk(evidence, wilson(evidence, -CAUTION));
}

/** The upper bound, shrunk in the same way: how well the component may work at best. 0 to 1. */
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
