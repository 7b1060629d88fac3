import test, { type ExecutionContext } from 'ava';
import { PROFILES } from './profiles.ts';
import { type Simulated, simulate } from './run-simulation.ts';

/*
 * 330 seeds, the same in every run, or as many as SIMULATION_SEEDS says (SIMULATION_FROM is the first):
 *   SIMULATION_SEEDS=20000 npx ava test/plugins/workflow/simulation/simulation.alone.test.ts --timeout=2h
 * `simulate.ts`, beside this file, runs one seed again and shows all that happened.
 */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 330);
const FROM = Number(process.env.SIMULATION_FROM ?? 0);

function requireWell(t: ExecutionContext, { seed, profile, violations }: Simulated): void {
  const how = `node test/plugins/workflow/simulation/simulate.ts --seed ${seed} --trace`;
  t.deepEqual(violations, [], `seed ${seed} (${profile}) breaks a rule; to see how: ${how}`);
}

test.serial(
  'whatever goes wrong, runs go on, end as their graphs say, and nothing is done twice',
  async (t) => {
    t.timeout(2 * 60 * 60_000);
    const seen = new Map<string, number>();
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const simulated = await simulate({ seed });
      requireWell(t, simulated);
      for (const [what, times] of Object.entries(simulated.counts)) {
        seen.set(what, (seen.get(what) ?? 0) + times);
      }
    }
    // What was never seen was not tested.
    const expected = [
      'writes unknown',
      'writes conflict',
      'late results',
      'leases that expired',
      'redeliveries',
      'crashes',
      'failures worker_lost',
      'failures step_timeout',
      'failures human_task_timeout',
      'failures no_matching_edge',
      'sweeps that found orphan',
      'sweeps that found due',
      'sweeps that found drifted',
      'abandoned calls',
      'task.timed_out',
      'step.skipped',
      'run.cancelled',
    ];
    t.deepEqual(
      expected.filter((what) => !seen.has(what)),
      [],
    );
  },
);

for (const [index, { name }] of PROFILES.entries()) {
  test.serial(`a seed gives the same simulation again, event by event: ${name}`, async (t) => {
    const seed = 5 * PROFILES.length + index;
    const [first, second, other] = [
      await simulate({ seed }),
      await simulate({ seed }),
      await simulate({ seed: seed + PROFILES.length }),
    ];
    t.is(first.profile, name);
    t.true(first.events > 100);
    t.is(first.hash, second.hash);
    t.deepEqual(first.lines, second.lines);
    t.not(first.hash, other.hash);
  });
}
