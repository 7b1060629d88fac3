import { access } from 'node:fs/promises';
import { BUILTIN_FOLDER } from '../plugins/records/services/skills/skill-text.ts';
import { openTestSandbox } from '../test/support/sandbox.ts';
import { createExampleCheck } from './skills/check-examples.ts';
import { textProblems } from './skills/check-text.ts';
import { exampleTools } from './skills/example-tools.ts';
import { likeness, shinglesOf } from './skills/similarity.ts';
import { readSkillFiles } from './skills/skill-files.ts';

/*
 * `npm run skills`: checks the form of every built-in skill, that the names in it exist, that its worked example gives
 * the figures that it prints, and that no two are alike. `node scripts/check-skills.ts <name>...` reports on the named
 * ones alone. Exits with 1 for any problem.
 */

/** The share of one body that may stand in another. */
const MAX_LIKENESS = 0.3;

const { skills, unreadable } = await readSkillFiles(BUILTIN_FOLDER);
const wanted = new Set(process.argv.slice(2));
const isWanted = (name: string) => wanted.size === 0 || wanted.has(name);
const problems = new Map<string, string[]>();
const report = (name: string, found: readonly string[]) => {
  if (found.length > 0 && isWanted(name)) problems.set(name, [...(problems.get(name) ?? []), ...found]);
};

for (const { name, problems: found } of unreadable) report(name, found);
for (const name of wanted) {
  if (![...skills, ...unreadable].some((skill) => skill.name === name))
    report(name, ['there is no such skill']);
}

const runsCode = await access('/usr/bin/bwrap').then(
  () => true,
  () => false,
);
await using sandbox = await openTestSandbox({ mode: 'local' });
const tools = await exampleTools(sandbox);
const known = {
  skills: new Set(skills.map(({ name }) => name)),
  tools: new Set(tools.keys()),
};
const exampleProblems = createExampleCheck({ tools, skills: known.skills, runsCode });
for (const skill of skills.filter(({ name }) => isWanted(name))) {
  report(skill.name, await textProblems(skill, known));
  report(skill.name, await exampleProblems(skill.body));
}

const shingles = skills.map(({ body }) => shinglesOf(body));
for (const [index, one] of skills.entries()) {
  for (const [place, other] of skills.entries()) {
    if (place === index) continue;
    const share = likeness(shingles[index]!, shingles[place]!);
    if (share > MAX_LIKENESS) report(one.name, [`it is ${Math.round(share * 100)} % like ${other.name}`]);
    if (one.description === other.description) report(one.name, [`it has the description of ${other.name}`]);
  }
}

for (const [name, found] of [...problems].sort(([a], [b]) => (a < b ? -1 : 1))) {
  for (const problem of found) process.stderr.write(`${name}: ${problem}\n`);
}
const checked = [...skills, ...unreadable].filter(({ name }) => isWanted(name)).length;
if (!runsCode) process.stdout.write('bubblewrap is not installed: code in examples was not run\n');
process.stdout.write(`${checked} skills checked, ${problems.size} with problems\n`);
process.exitCode = problems.size === 0 ? 0 : 1;
