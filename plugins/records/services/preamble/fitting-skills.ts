import type { SkillSearch } from '../skills/skill-search.ts';
import type { ShownSkills } from './compose-preamble.ts';

/** Skills that a prompt lists at most: a model finds the others with a tool. */
const MOST = 8;
/** A skill with a lower score is not listed: a single word in common means nothing. */
const LEAST_SCORE = 12;
/** Of the score of the best one. */
const LEAST_SHARE = 0.4;

/**
 * The skills that fit what was said last, best first, and how many there are; none for a conversation that hints at
 * none.
 */
export function fittingSkills(search: SkillSearch, said: readonly string[]): ShownSkills {
  const found = search.find(said, MOST, LEAST_SCORE);
  const least = (found[0]?.score ?? 0) * LEAST_SHARE;
  const fitting = found.filter(({ score }) => score >= least).map(({ skill }) => skill);
  return { fitting, total: search.total };
}
