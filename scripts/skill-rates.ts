import { skillRates, skillRateTable } from '../test/corpus/skills/rates.ts';

/*
 * `npm run skills:rates`: asks the 200 questions of test/corpus/skills and prints how often the right skill is listed
 * in the prompt, or found by one call of `find_skill` with the question. Exits with 1 below 95 of 100. `-- --dev` shows
 * the misses in the half that the search was developed on.
 */

const FLOOR = 0.95;

const rates = await skillRates();
process.stdout.write(`${skillRateTable(rates)}\n`);
if (process.argv.includes('--dev')) {
  for (const { skill, question, first } of rates.missed.filter(({ half }) => half === 'dev')) {
    process.stdout.write(`${skill}: ${question} (first: ${first.join(', ')})\n`);
  }
}
process.exitCode = rates.all.listedOrFound / rates.all.questions >= FLOOR ? 0 : 1;
