import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child.ts';
import { giveRoom, makeKey, withGateway } from './gateway.ts';
import { load, median, percentile, type Shot } from './load.ts';
import { margin, mean } from './statistics.ts';

/*
 * What requests cost in this version of the gateway, and how long the slowest take, compared with another:
 * `npm run bench:versions -- --beside DIR [--pairs 10] [--only TITLE]`. Each figure is of a process of its own, alone
 * on the machine but for the benchmark and its provider; the versions take turns in who comes first. README.md says how
 * to read it.
 */

const here = path.dirname(fileURLToPath(import.meta.url));
const own = path.join(here, '../..');
/** Measured rounds of a scenario's `count` requests in each process. */
const ROUNDS = 6;
/** Rounds before those: enough for the optimizing compiler to have seen everything. */
const WARM_UP = 4;

interface Scenario {
  readonly title: string;
  readonly count: number;
  readonly concurrency: number;
  shot(key: string): Shot;
}

const chat = { model: 'default', messages: [{ role: 'user', content: 'Tell me something about gateways.' }] };

const SCENARIOS: readonly Scenario[] = [
  { title: 'GET /v1/me', count: 2000, concurrency: 16, shot: (key) => get('/v1/me', key) },
  { title: 'chat, plain', count: 500, concurrency: 8, shot: (key) => post(chat, key) },
  { title: 'turn of an agent', count: 300, concurrency: 8, shot: (key) => post(chat, key, '/v1/agent/chat') },
  {
    title: 'chat, stream of 66 chunks',
    count: 150,
    concurrency: 8,
    shot: (key) => post({ ...chat, stream: true }, key),
  },
];

async function main(): Promise<void> {
  const beside = option('--beside');
  if (beside === undefined) throw new Error('--beside names the folder of the other version');
  const other = path.resolve(beside);
  const pairs = Number(option('--pairs') ?? 10);
  const scenarios = SCENARIOS.filter(({ title }) => title.includes(option('--only') ?? ''));
  const provider = await startChild(path.join(here, 'provider.ts'), {});
  const ratios = new Map(scenarios.map((scenario) => [scenario, FIGURES.map((): number[] => [])]));
  try {
    for (let pair = 1; pair <= pairs; pair += 1) {
      // This, other, other, this: what makes the machine slower and slower hits both alike.
      const roots = pair % 2 === 0 ? [other, own] : [own, other];
      const costs = new Map<string, Costs>();
      for (const root of roots) costs.set(root, await measure(root, scenarios, provider.url));
      const line = scenarios.map((scenario) => {
        const [ours, theirs] = [own, other].map((root) => costs.get(root)!.get(scenario)!) as [Cost, Cost];
        const figures = FIGURES.map(([name, unit, digits], index) => {
          ratios.get(scenario)![index]!.push(ours[name] / theirs[name]);
          return `${ours[name].toFixed(digits)} / ${theirs[name].toFixed(digits)} ${unit}`;
        });
        return `${scenario.title} ${figures.join(', p99 ')}`;
      });
      print(`pair ${pair}: ${line.join('; ')}`);
    }
  } finally {
    await provider.stop();
  }
  print('\nThis version over the other: mean of the ratios of pairs, and its 95 % interval');
  print(`${''.padEnd(28)}${'CPU a request'.padEnd(26)}slowest request but 1 %`);
  for (const [scenario, [cpu = [], p99 = []]] of ratios)
    print(`${scenario.title.padEnd(28)}${spread(cpu).padEnd(26)}${spread(p99)}`);
}

/**
 * What one process needs for requests of a kind. It is alone on the machine, but for the benchmark and its provider.
 */
interface Cost {
  /** Microseconds of CPU a request: the median of the rounds. */
  readonly cpu: number;
  /** Milliseconds in which 99 % of the requests of all rounds were answered to their end. */
  readonly p99: number;
}

/** The figures, their units, and digits behind the point. */
const FIGURES: readonly (readonly [keyof Cost, string, number])[] = [
  ['cpu', 'µs', 0],
  ['p99', 'ms', 1],
];

type Costs = ReadonlyMap<Scenario, Cost>;

function measure(root: string, scenarios: readonly Scenario[], providerUrl: string): Promise<Costs> {
  return withGateway(root, { LLM_API_URL: providerUrl, LLM_MODEL: 'bench' }, async (child) => {
    await giveRoom(child.url, 1000);
    const key = await makeKey(child.url);
    const costs = new Map<Scenario, Cost>();
    for (const scenario of scenarios) {
      await run(scenario, child, key, scenario.count * WARM_UP);
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1)
        rounds.push(await run(scenario, child, key, scenario.count));
      const times = rounds.flatMap(({ total }) => total).sort((one, other) => one - other);
      costs.set(scenario, { cpu: median(rounds.map(({ cpu }) => cpu)), p99: percentile(times, 0.99) });
    }
    return costs;
  });
}

async function run(scenario: Scenario, child: Child, key: string, count: number) {
  const before = child.cpu();
  const { total } = await load(child.url, scenario.shot(key), count, scenario.concurrency);
  return { cpu: (child.cpu() - before) / count, total };
}

/** Of ratios: their geometric mean, and the interval in which it lies with 95 %. */
function spread(ratios: readonly number[]): string {
  const logs = ratios.map(Math.log);
  const [middle, half] = [mean(logs), margin(logs)];
  const [low, high] = [Math.exp(middle - half), Math.exp(middle + half)];
  return `${Math.exp(middle).toFixed(3)}  ${low.toFixed(3)} to ${high.toFixed(3)}`;
}

function get(url: string, key: string): Shot {
  return { path: url, method: 'GET', headers: { authorization: `Bearer ${key}` } };
}

function post(body: object, key: string, where = '/v1/chat/completions'): Shot {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return { path: where, method: 'POST', headers, body: JSON.stringify(body) };
}

function option(name: string): string | undefined {
  const index = process.argv.indexOf(name);
  return index < 0 ? undefined : process.argv[index + 1];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
