import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child.ts';
import { giveRoom, makeKey, withGateway } from './gateway.ts';
import { load, median, type Shot } from './load.ts';
import { margin, mean } from './statistics.ts';

/*
 * What requests cost in this version of the gateway, compared with another:
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
  const ratios = new Map<Scenario, number[]>(scenarios.map((scenario) => [scenario, []]));
  try {
    for (let pair = 1; pair <= pairs; pair += 1) {
      // This, other, other, this: what makes the machine slower and slower hits both alike.
      const roots = pair % 2 === 0 ? [other, own] : [own, other];
      const costs = new Map<string, Costs>();
      for (const root of roots) costs.set(root, await measure(root, scenarios, provider.url));
      const line = scenarios.map((scenario) => {
        const [ours, theirs] = [own, other].map((root) => costs.get(root)!.get(scenario)!) as [
          number,
          number,
        ];
        ratios.get(scenario)!.push(ours / theirs);
        return `${scenario.title} ${ours.toFixed(0)} / ${theirs.toFixed(0)}`;
      });
      print(`pair ${pair}: ${line.join('; ')}`);
    }
  } finally {
    await provider.stop();
  }
  print('\nCPU a request, this version over the other: mean of the ratios of pairs, and its 95 % interval');
  for (const [scenario, values] of ratios) print(`${scenario.title.padEnd(28)}${spread(values)}`);
}

/** Microseconds of CPU a request: of a process that is alone on the machine, but for the benchmark and its provider. */
type Costs = ReadonlyMap<Scenario, number>;

function measure(root: string, scenarios: readonly Scenario[], providerUrl: string): Promise<Costs> {
  return withGateway(root, { LLM_API_URL: providerUrl, LLM_MODEL: 'bench' }, async (child) => {
    await giveRoom(child.url, 1000);
    const key = await makeKey(child.url);
    const costs = new Map<Scenario, number>();
    for (const scenario of scenarios) {
      await cost(scenario, child, key, scenario.count * WARM_UP);
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1)
        rounds.push(await cost(scenario, child, key, scenario.count));
      costs.set(scenario, median(rounds));
    }
    return costs;
  });
}

async function cost(scenario: Scenario, child: Child, key: string, count: number): Promise<number> {
  const before = child.cpu();
  await load(child.url, scenario.shot(key), count, scenario.concurrency);
  return (child.cpu() - before) / count;
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

function post(body: object, key: string): Shot {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return { path: '/v1/chat/completions', method: 'POST', headers, body: JSON.stringify(body) };
}

function option(name: string): string | undefined {
  const index = process.argv.indexOf(name);
  return index < 0 ? undefined : process.argv[index + 1];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
