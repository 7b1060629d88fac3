import { composeHead, withSkills } from '../../plugins/records/services/preamble/compose-preamble.ts';
import { fittingSkills } from '../../plugins/records/services/preamble/fitting-skills.ts';
import { readInstalled } from '../../plugins/records/services/skills/installed-skills.ts';
import { EMPTY_MANIFEST } from '../../plugins/records/services/skills/manifest.ts';
import { createSkillSearch } from '../../plugins/records/services/skills/skill-search.ts';
import { BUILTIN_FOLDER, readCatalog } from '../../plugins/records/services/skills/skill-text.ts';
import { skillQuestions } from '../../test/corpus/skills/rates.ts';

/*
 * How much it costs a chat that its prompt lists the skills that fit: the index, once for a process; then the choice
 * and the text for each message, a question as users ask it and three long messages. CPU time of one process.
 * `npm run bench:skills`.
 */

const ROUNDS = 15;

const catalog = readCatalog(BUILTIN_FOLDER);
const installed = readInstalled(catalog)(EMPTY_MANIFEST);
const questions = (await skillQuestions()).map(({ question }) => question);
const pasted = questions.join(' ').repeat(20);
const long = [pasted, pasted.slice(3000), `${pasted.slice(9000)} Please summarize this.`];
const head = composeHead({ soul: catalog.soul, memories: [] }, 2000);

/** Microseconds of CPU. */
function cost(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function least(work: () => void): number {
  return Math.min(...Array.from({ length: ROUNDS }, () => cost(work)));
}

const search = createSkillSearch(catalog)(installed);
const index = cost(() => search.find(['anything'], 1));
const text = (said: readonly string[]) => withSkills(head, fittingSkills(search, said));
const all = least(() => {
  for (const question of questions) text([question]);
});
const short = all / questions.length;
const many = least(() => text(long));
const print = (what: string, value: number) =>
  process.stdout.write(`${what.padEnd(44)} ${value.toFixed(2).padStart(8)} ms\n`);
print('index of the built-in skills, once', index / 1000);
print('skills of a prompt, a question', short / 1000);
print('skills of a prompt, three long messages', many / 1000);
