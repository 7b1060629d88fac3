import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fittingSkills } from '../../../plugins/records/services/preamble/fitting-skills.ts';
import { readInstalled } from '../../../plugins/records/services/skills/installed-skills.ts';
import { EMPTY_MANIFEST } from '../../../plugins/records/services/skills/manifest.ts';
import { createSkillSearch, foundFor } from '../../../plugins/records/services/skills/skill-search.ts';
import { BUILTIN_FOLDER, readCatalog } from '../../../plugins/records/services/skills/skill-text.ts';

/** What somebody may ask, and the one skill that it is for. */
export interface SkillQuestion {
  readonly skill: string;
  /** `dev`: the search was developed on it. `held-out`: it was not looked at. */
  readonly half: 'dev' | 'held-out';
  readonly question: string;
}

/** Where the right skill came for a question. */
interface Answered extends SkillQuestion {
  readonly isListed: boolean;
  readonly isFound: boolean;
  /** What came first in its place. */
  readonly first: readonly string[];
}

/**
 * How often the right skill is listed in the prompt, or found by one call of `find_skill` with the question, as counts.
 */
export interface SkillRate {
  readonly questions: number;
  readonly listed: number;
  readonly found: number;
  readonly listedOrFound: number;
  /** Skills that a prompt lists, on average. */
  readonly shown: number;
}

/** The 200 questions: two or three for each skill, none of which names its skill. */
export async function skillQuestions(): Promise<readonly SkillQuestion[]> {
  return JSON.parse(await readFile(path.join(import.meta.dirname, 'questions.json'), 'utf8'));
}

/** What people say who want no skill: nothing should be listed for it. */
export const SMALL_TALK: readonly string[] = [
  'hi',
  'thanks a lot!',
  'hello, who are you?',
  'tell me a joke',
  'continue',
  'ok, do that',
  'what time is it',
  'What is 17 * 23?',
  'My name is Ana, remember that',
  'what is the weather in Porto',
  'how many planets are there?',
  'capital of Australia?',
  'Which is bigger, a lion or a tiger?',
  'I feel a bit tired today',
  'recommend me a good film for tonight',
  'can you write a poem about autumn',
];

/** Asks every question of the built-in skills. */
export async function skillRates(): Promise<{
  readonly all: SkillRate;
  readonly dev: SkillRate;
  readonly heldOut: SkillRate;
  readonly missed: readonly Answered[];
  /** Skills that are listed for small talk, on average. */
  readonly smallTalk: number;
}> {
  const catalog = readCatalog(BUILTIN_FOLDER);
  const search = createSkillSearch(catalog)(readInstalled(catalog)(EMPTY_MANIFEST));
  const listed = (text: string) => fittingSkills(search, [text]).fitting.map(({ name }) => name);
  const answered = (await skillQuestions()).map((asked) => {
    const names = foundFor(search, asked.question).map(({ name }) => name);
    const inPrompt = listed(asked.question);
    const isListed = inPrompt.includes(asked.skill);
    return {
      ...asked,
      isListed,
      isFound: names.includes(asked.skill),
      first: names.slice(0, 3),
      shown: inPrompt.length,
    };
  });
  const rate = (chosen: typeof answered): SkillRate => ({
    questions: chosen.length,
    listed: chosen.filter(({ isListed }) => isListed).length,
    found: chosen.filter(({ isFound }) => isFound).length,
    listedOrFound: chosen.filter(({ isListed, isFound }) => isListed || isFound).length,
    shown: chosen.reduce((sum, each) => sum + each.shown, 0) / chosen.length,
  });
  return {
    all: rate(answered),
    dev: rate(answered.filter(({ half }) => half === 'dev')),
    heldOut: rate(answered.filter(({ half }) => half === 'held-out')),
    missed: answered.filter(({ isListed, isFound }) => !isListed && !isFound),
    smallTalk: SMALL_TALK.reduce((sum, text) => sum + listed(text).length, 0) / SMALL_TALK.length,
  };
}

/** The rates as a table. */
export function skillRateTable({
  all,
  dev,
  heldOut,
  smallTalk,
}: Awaited<ReturnType<typeof skillRates>>): string {
  const percent = (part: number, of: number) => `${((100 * part) / of).toFixed(1)} %`.padStart(9);
  const row = (title: string, { questions, listed, found, listedOrFound, shown }: SkillRate) =>
    [
      title.padEnd(10),
      String(questions).padStart(9),
      percent(listed, questions),
      percent(found, questions),
      percent(listedOrFound, questions),
      shown.toFixed(1).padStart(9),
    ].join(' ');
  return [
    ['half'.padEnd(10), 'questions', '   listed', '    found', '   either', '    shown'].join(' '),
    row('dev', dev),
    row('held-out', heldOut),
    row('all', all),
    `small talk: ${smallTalk.toFixed(1)} skills are listed on average`,
  ].join('\n');
}
