import { guardRates, rateTable } from '../test/corpus/prompt-injection/rates.ts';

/*
 * `npm run guard:rates`: runs the input check over the labelled corpus and prints what the check catches, by technique
 * and language, and what it refuses wrongly. Exits with 1 when the half of the corpus on which the check was not
 * developed misses the floors. `-- --dev` lists the mistakes on the other half.
 */

const rates = await guardRates();
process.stdout.write(`${rateTable(rates)}\n`);
if (process.argv.includes('--dev')) {
  for (const { label, group, language, text, rule } of rates.wrong.filter(({ half }) => half === 'dev')) {
    const what = label === 'attack' ? 'missed' : `refused by ${rule}`;
    process.stdout.write(`${what}: ${group}, ${language}: ${JSON.stringify(text.slice(0, 160))}\n`);
  }
}
process.exit(rates.failures.length === 0 ? 0 : 1);
