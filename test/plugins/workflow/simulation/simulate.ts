import { parseArgs } from 'node:util';
import { PROFILES } from './profiles.ts';
import { simulate } from './run-simulation.ts';

/*
 * Simulates the engine, seed by seed, until something goes wrong:
 *   node test/plugins/workflow/simulation/simulate.ts [--seeds 1000] [--from 0] [--profile crashes]
 * One seed again, with all that happened:
 *   node test/plugins/workflow/simulation/simulate.ts --seed 4711 --trace
 */

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string' },
    profile: { type: 'string' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

const names = PROFILES.map(({ name }) => name);
if (values.profile !== undefined && !names.includes(values.profile)) {
  print(`There is no profile "${values.profile}"; there are ${names.join(', ')}.`);
  process.exit(2);
}
const [first, count] =
  values.seed === undefined ? [Number(values.from), Number(values.seeds)] : [Number(values.seed), 1];
const totals: Record<string, number> = {};
let simulated = 0;
let failed = 0;
const began = performance.now();

for (let seed = first; simulated < count; seed += 1) {
  if (values.profile !== undefined && names[seed % names.length] !== values.profile) continue;
  simulated += 1;
  const result = await simulate({ seed, keep: values.trace ? Number.POSITIVE_INFINITY : 40 });
  for (const [what, times] of Object.entries(result.counts)) totals[what] = (totals[what] ?? 0) + times;
  const isBroken = result.violations.length > 0;
  if (isBroken || values.trace) for (const line of result.lines) print(line);
  if (isBroken) {
    failed += 1;
    print(`\nSeed ${seed} (${result.profile}) breaks a rule:`);
    for (const violation of result.violations) print(`  ${violation}`);
    print(`Again, with all that happened: node ${process.argv[1]} --seed ${seed} --trace\n`);
    if (!values['keep-going']) break;
  }
  if (values.seed !== undefined) print(`${result.events} events, trace ${result.hash}`);
}

for (const what of Object.keys(totals).sort()) print(`${String(totals[what]).padStart(9)}  ${what}`);
print(`${simulated} simulations in ${((performance.now() - began) / 1000).toFixed(1)} s, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
