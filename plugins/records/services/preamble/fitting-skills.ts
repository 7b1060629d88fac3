import type { SkillSearch } from '../skills/skill-search.ts';
import type { ShownSkills } from './compose-preamble.ts';

/** Skills that a prompt lists at most: what does not fit as well is found with a tool. */
const MOST = 8;
/** A conversation that says less than this of a skill does not speak of it: a word in common is no hint. */
const LEAST_SCORE = 12;
/** Of the score of the best one. */
const LEAST_SHARE = 0.4;

/** The skills that fit what was said last, best first, and how many there are; none for a conversation that hints at none. */
export function fittingSkills(search: SkillSearch, said: readonly string[]): ShownSkills {
  const found = search.find(said, MOST);
  const least = Math.max(LEAST_SCORE, (found[0]?.score ?? 0) * LEAST_SHARE);
  const fitting = found.filter(({ score }) => score >= least).map(({ skill }) => skill);
  return { fitting, total: search.total };
}
