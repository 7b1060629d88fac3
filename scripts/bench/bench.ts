import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child.ts';
import { gatewayEnvironment, giveRoom, makeKey } from './gateway.ts';
import { measureLargeBodies } from './large-bodies.ts';
import { type LoadResult, load, median, percentile, type Shot } from './load.ts';

/*
 * What the gateway costs, compared with a bare Koa application that does the same work, on the same machine, in turn.
 * Quote the ratios: absolute times are the machine's. `npm run bench [-- --quick]`.
 */

const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 2 : 5;
/** Milliseconds after which the benchmark measures what memory large bodies have left. */
const LARGE_BODIES_REST = isQuick ? 10_000 : 60_000;
const here = path.dirname(fileURLToPath(import.meta.url));

interface Scenario {
  readonly title: string;
  readonly shot: Shot;
  readonly count: number;
  readonly concurrency: number;
  /** The pace of the provider's stream in ms; 0 for as fast as it can. */
  readonly pace?: number;
}

interface Sample {
  /** Microseconds of CPU a request. */
  readonly cpu: number;
  readonly result: LoadResult;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-bench-'));
  const provider = await startChild(path.join(here, 'provider.ts'), {});
  const paced = await startChild(path.join(here, 'provider.ts'), { PACE_MS: '20' });
  const servers = await Promise.all([servePair(provider, folder, 'fast'), servePair(paced, folder, 'paced')]);
  try {
    for (const scenario of await scenarios(servers.map(({ gateway }) => gateway))) {
      const { gateway, bare } = servers[scenario.pace === undefined ? 0 : 1]!;
      await compare(scenario, gateway, bare);
    }
    const [{ gateway, bare }] = servers as [Pair, Pair];
    print(
      `memory after all: gateway ${gateway.memory().toFixed(0)} MiB, bare Koa ${bare.memory().toFixed(0)} MiB`,
    );
    const { idle, peak, left } = await measureLargeBodies(
      environmentOf(provider, folder, 'bodies'),
      LARGE_BODIES_REST,
    );
    print(
      `three chats of 16 MiB at one time: idle ${idle.toFixed(0)} MiB, peak ${peak.toFixed(0)} MiB, ` +
        `${left.toFixed(0)} MiB ${LARGE_BODIES_REST / 1000} s later`,
    );
  } finally {
    await Promise.all(
      [...servers.flatMap(({ gateway, bare }) => [gateway, bare]), provider, paced].map((c) => c.stop()),
    );
    await rm(folder, { recursive: true });
  }
}

interface Pair {
  readonly gateway: Child;
  readonly bare: Child;
}

async function servePair(provider: Child, folder: string, name: string): Promise<Pair> {
  const [gateway, bare] = await Promise.all([
    startChild(path.join(here, '../../kernel/main.js'), environmentOf(provider, folder, name)),
    startChild(path.join(here, 'bare-koa.ts'), { PROVIDER_URL: provider.url, NODE_ENV: 'production' }),
  ]);
  return { gateway, bare };
}

function environmentOf(provider: Child, folder: string, name: string): Record<string, string> {
  return {
    ...gatewayEnvironment(path.join(folder, name)),
    LLM_API_URL: provider.url,
    LLM_MODEL: 'bench',
  };
}

/** The requests of a tenant's user: with an API key, as clients have it. The tenant's limit is out of the way. */
async function scenarios(gateways: readonly Child[]): Promise<readonly Scenario[]> {
  const keys = await Promise.all(gateways.map(prepareTenant));
  const shot = (gateway: number, body?: object): Shot => ({
    path: body === undefined ? '/v1/me' : '/v1/chat/completions',
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${keys[gateway]}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const chat = {
    model: 'default',
    messages: [{ role: 'user', content: 'Tell me something about gateways.' }],
  };
  const scale = isQuick ? 0.25 : 1;
  return [
    { title: 'GET /v1/me', shot: shot(0), count: 8000 * scale, concurrency: 16 },
    { title: 'chat, plain', shot: shot(0, chat), count: 3000 * scale, concurrency: 8 },
    {
      title: 'chat, stream of 66 chunks',
      shot: shot(0, { ...chat, stream: true }),
      count: 800 * scale,
      concurrency: 16,
    },
    {
      title: '500 streams at one time',
      shot: shot(1, { ...chat, stream: true }),
      count: 500,
      concurrency: 500,
      pace: 20,
    },
  ];
}

async function prepareTenant({ url }: Child): Promise<string> {
  await giveRoom(url, 1000);
  return makeKey(url);
}

/**
 * Runs both in turn, so that the machine's other work hits both alike, and prints medians and the ratio of each pair.
 */
async function compare(scenario: Scenario, gateway: Child, bare: Child): Promise<void> {
  const samples: { gateway: Sample; bare: Sample }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const pair = { gateway: await sample(scenario, gateway), bare: await sample(scenario, bare) };
    // The first round warms both up.
    if (round > 0) samples.push(pair);
  }
  print(
    `\n${scenario.title} (${scenario.count} requests, ${scenario.concurrency} at a time, ${ROUNDS} rounds)`,
  );
  print(row('', 'gateway', 'bare Koa', 'ratio'));
  for (const [title, read] of FIGURES) {
    const ours = samples.map(({ gateway: s }) => read(s));
    const theirs = samples.map(({ bare: s }) => read(s));
    const ratio = median(ours.map((value, index) => value / theirs[index]!));
    print(row(title, median(ours).toFixed(2), median(theirs).toFixed(2), ratio.toFixed(2)));
  }
}

async function sample(scenario: Scenario, child: Child): Promise<Sample> {
  const before = child.cpu();
  const result = await load(child.url, scenario.shot, scenario.count, scenario.concurrency);
  return { cpu: (child.cpu() - before) / scenario.count, result };
}

const FIGURES: readonly (readonly [string, (sample: Sample) => number])[] = [
  ['CPU µs/request', ({ cpu }) => cpu],
  ['requests/s', ({ result }) => result.requests / result.seconds],
  ['p50 ms', ({ result }) => percentile(result.total, 0.5)],
  ['p99 ms', ({ result }) => percentile(result.total, 0.99)],
  ['first byte p50 ms', ({ result }) => percentile(result.firstByte, 0.5)],
  ['first byte p99 ms', ({ result }) => percentile(result.firstByte, 0.99)],
];

function row(...cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(12))).join('');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
