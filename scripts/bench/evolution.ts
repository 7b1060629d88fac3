import { runGateway } from './evolution/gateway-run.ts';
import { measureLatency } from './evolution/latency.ts';
import { RIVALS, type Rival, runRival } from './evolution/rivals.ts';
import { type Scores, scoresOf, successOf, worseClasses } from './evolution/scores.ts';
import { createWorld, type Done } from './evolution/world.ts';
import { margin, mean } from './statistics.ts';

/*
 * Whether agents get better by learning from their runs: simulated worlds through a real gateway.
 * `npm run bench:evolution [-- --seeds 20] [-- --tasks 2000]`, or with `--latency` alone: how long a chat takes with
 * evolution and without. How to read it: README.md in this folder. Exits with 1 where a goal is missed.
 */

const option = (name: string, usual: number) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
const SEEDS = option('seeds', 20);
const TASKS = option('tasks', 2_000);

interface Goal {
  readonly name: string;
  readonly of: (scores: Scores) => number;
  readonly isMet: (value: number) => boolean;
  readonly words: string;
}

const atLeast = (least: number) => ({ isMet: (value: number) => value >= least, words: `at least ${least}` });
const atMost = (most: number) => ({ isMet: (value: number) => value <= most, words: `at most ${most}` });
const reported = { isMet: () => true, words: '' };
const gap = { name: 'gap to the oracle closed', of: (scores: Scores) => scores.gap };
const brier = { name: 'Brier score', of: (scores: Scores) => scores.brier, ...atMost(0.2) };
const tokens = { name: 'prompt tokens added to a task', of: (scores: Scores) => scores.tokens, ...reported };

const SCENARIOS: Readonly<
  Record<string, { readonly change: number | undefined; readonly goals: readonly Goal[] }>
> = {
  'nothing changes': { change: undefined, goals: [{ ...gap, ...atLeast(0.75) }, brier, tokens] },
  'the right tools change half-way, and a neighbour offers poison': {
    change: TASKS / 2,
    goals: [
      { ...gap, ...atLeast(0.65) },
      { name: 'success after the change, above none', of: (scores) => scores.after, ...atLeast(0.08) },
      { name: 'poisoned advice', of: (scores) => scores.poisoned, ...atMost(0.02) },
      brier,
      tokens,
    ],
  },
};

if (process.argv.includes('--latency')) {
  const { on, off } = await measureLatency();
  for (const at of ['p50', 'p99'] as const)
    print(
      `${at}: ${on[at].toFixed(1)} ms with, ${off[at].toFixed(1)} ms without, ratio ${(on[at] / off[at]).toFixed(2)}`,
    );
} else {
  process.exitCode = (await compare()) ? 0 : 1;
}

/** Runs all scenarios, and prints their results. True when every goal is met. */
async function compare(): Promise<boolean> {
  let isMissed = false;
  for (const [title, { change, goals }] of Object.entries(SCENARIOS)) {
    const worlds = Array.from({ length: SEEDS }, (_, seed) => createWorld(seed + 1, TASKS, change));
    const rivals = new Map<Rival, readonly (readonly Done[])[]>(
      RIVALS.map((rival) => [rival, worlds.map((world) => runRival(rival, world))]),
    );
    const begun = performance.now();
    const plugin = await runGateway(worlds, change);
    const seconds = (performance.now() - begun) / 1000;
    print(`\n${title}: ${SEEDS} worlds of ${TASKS} tasks, ${seconds.toFixed(0)} s`);
    for (const [name, runs] of [...rivals, ['plugin', plugin] as const]) {
      const rates = runs.map((done) => successOf(done));
      const after = runs.map((done) => successOf(done, TASKS / 2, TASKS / 2 + 500));
      print(`  ${name.padEnd(8)} success ${show(rates)}, of the 500 after half-way ${show(after)}`);
    }
    const scores = worlds.map((world, at) =>
      scoresOf(
        { world, plugin: plugin[at]!, none: rivals.get('none')![at]!, oracle: rivals.get('oracle')![at]! },
        TASKS / 2,
      ),
    );
    for (const { name, of, isMet, words } of goals) {
      const values = scores.map(of);
      const isGood = isMet(mean(values));
      isMissed ||= !isGood;
      print(`  ${isGood ? ' ' : '!'} ${name}: ${show(values)}${words === '' ? '' : ` (${words})`}`);
    }
    const worse = worseClasses(scores);
    isMissed ||= worse.length > 0;
    print(
      `  ${worse.length === 0 ? ' ' : '!'} classes that end worse than without: ${worse.join('; ') || 'none'}`,
    );
  }
  return !isMissed;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function show(values: readonly number[]): string {
  return `${mean(values).toFixed(3)} ± ${margin(values).toFixed(3)}`;
}
