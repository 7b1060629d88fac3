import test from 'ava';
import { MISTAKES } from './mistakes.ts';
import { PROFILES } from './profiles.ts';
import { simulate } from './run-simulation.ts';

/** Seeds within which each mistake has to be found. */
const SEEDS = 30;

for (const { title, profile, tampering, told } of MISTAKES) {
  test.serial(`the simulation finds ${title}`, async (t) => {
    const first = PROFILES.findIndex(({ name }) => name === profile);
    for (let seed = first; seed < SEEDS * PROFILES.length; seed += PROFILES.length) {
      const { violations } = await simulate({ seed, tampering });
      if (violations.length === 0) continue;
      t.log(`seed ${seed}, after ${(seed - first) / PROFILES.length + 1} simulations: ${violations[0]}`);
      t.true(
        violations.some((violation) => told.test(violation)),
        violations.join('\n'),
      );
      return;
    }
    t.fail(`not found within ${SEEDS} seeds`);
  });
}
