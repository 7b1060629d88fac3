import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Child, startChild, startCommand } from './child.ts';
import { GATEWAY, gatewayEnvironment, giveRoom, makeKey } from './gateway.ts';
import { median, percentile } from './load.ts';
import type { Tally } from './numbered-stream.ts';
import { createStreamClient, type StreamClient } from './stream-client.ts';

/*
 * A thousand chats with an agent that stream at one time (`/api/v2/chat/stream?a2ui=true`): what each costs in memory,
 * whether that stays the same while they stream, and whether every chunk of each arrives, in order. Before that, how
 * soon an agent's new prompt counts while 50 streams run. `npm run bench:streams [-- --quick]`. README.md says how to
 * read it.
 */

const isQuick = process.argv.includes('--quick');
/** Numbers of open streams at which memory is measured. */
const STAGES = [250, 500, 1000] as const;
/** Milliseconds between two chunks of a stream. */
const PACE = 500;
/** Milliseconds that all streams go on for. */
const PLATEAU = isQuick ? 20_000 : 120_000;
/** Milliseconds before memory is measured, and during which it is measured. */
const SETTLE = 5_000;
const LOOK = 5_000;
/** Streams that run while the agent is edited, and how often it is. */
const EDITED_STREAMS = 50;
const EDITS = isQuick ? 5 : 20;
const EDIT_DEADLINE = 10_000;

async function main(): Promise<void> {
  const liveMemory = path.join(import.meta.dirname, 'live-memory.ts');
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-streams-'));
  const agents = path.join(folder, 'agents.d');
  await mkdir(agents);
  await save(agents, 'Version 0.');
  const provider = await startChild(path.join(import.meta.dirname, 'numbered-provider.ts'), {
    PACE_MS: String(PACE),
  });
  const gateway = await startCommand(process.execPath, [`--import=${liveMemory}`, ...GATEWAY], {
    env: {
      ...gatewayEnvironment(folder),
      SVC_AGENTS_DIR: agents,
      LLM_API_URL: provider.url,
      LLM_MODEL: 'bench',
      SVC_MAX_STREAMS_PER_USER: '0',
    },
  });
  try {
    await giveRoom(gateway.url, 10 * STAGES.at(-1)!);
    const client = createStreamClient(gateway.url, await makeKey(gateway.url), provider.url);
    await measureEdits(client, agents);
    await measureStreams(client, gateway);
    await client.close();
  } finally {
    await Promise.all([gateway.stop(), provider.stop()]);
    await rm(folder, { recursive: true });
  }
}

/** How long after an agent's file was written the first chat has its new prompt, asked again and again. */
async function measureEdits(client: StreamClient, agents: string): Promise<void> {
  await client.open(EDITED_STREAMS);
  const chats: number[] = [];
  const edits: number[] = [];
  for (let edit = 1; edit <= EDITS; edit += 1) {
    chats.push(await timeOf(() => client.prompt()));
    const prompt = `Version ${edit}.`;
    edits.push(
      await timeOf(async () => {
        const end = performance.now() + EDIT_DEADLINE;
        await save(agents, prompt);
        while (!(await client.prompt()).includes(prompt))
          if (performance.now() > end) throw new Error('the new prompt does not count');
      }),
    );
  }
  print(`an agent is edited ${EDITS} times while ${EDITED_STREAMS} of its streams run`);
  print(`from its file to the end of the first chat with the new prompt: ${spread(edits)} ms`);
  print(`a chat by itself: ${spread(chats)} ms`);
  report(await client.finish());
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function measureStreams(client: StreamClient, gateway: Child): Promise<void> {
  await pause(SETTLE);
  const idle = await memory(gateway);
  print(`\n${STAGES.at(-1)} streams at one time, a chunk each ${PACE} ms`);
  print(row('streams', 'RSS MiB', 'KiB/stream', 'live MiB', 'KiB/stream'));
  print(row('0', idle.resident.toFixed(0), '', idle.live.toFixed(0), ''));
  const firsts: number[] = [];
  let now = idle;
  for (const count of STAGES) {
    firsts.push(...(await client.open(count - client.streams())));
    await pause(SETTLE);
    now = await memory(gateway);
    const { resident, live } = each(idle, now, count);
    print(row(String(count), now.resident.toFixed(0), resident, now.live.toFixed(0), live));
  }
  print(`first event: ${spread(firsts)} ms`);

  const [chunks, cpu, began] = [client.chunks(), gateway.cpu(), performance.now()];
  await pause(PLATEAU);
  const seconds = (performance.now() - began) / 1000;
  const rate = (client.chunks() - chunks) / seconds;
  const load = (gateway.cpu() - cpu) / 1e6 / seconds;
  print(
    `${seconds.toFixed(0)} s later: ${rate.toFixed(0)} chunks/s at ${(100 * load).toFixed(0)} % of a core`,
  );
  const later = await memory(gateway);
  const more = each(now, later, client.streams());
  print(row('', later.resident.toFixed(0), `+ ${more.resident}`, later.live.toFixed(0), `+ ${more.live}`));
  report(await client.finish());
  await pause(SETTLE);
  const after = await memory(gateway);
  print(`afterwards: RSS ${after.resident.toFixed(0)} MiB, live ${after.live.toFixed(0)} MiB`);
}

/** MiB: the resident memory, as the median of a while, and the part of it that is still referenced. */
interface Memory {
  readonly resident: number;
  readonly live: number;
}

async function memory(gateway: Child): Promise<Memory> {
  const seen: number[] = [];
  for (const end = performance.now() + LOOK; performance.now() < end; await pause(100))
    seen.push(gateway.memory());
  const line = gateway.line(/^live (\d+)$/m);
  gateway.process.kill('SIGUSR2');
  return { resident: median(seen), live: Number(await line) / 1024 ** 2 };
}

/** KiB by which memory has grown for each stream. */
function each(before: Memory, after: Memory, streams: number) {
  const of = (what: keyof Memory) => (((after[what] - before[what]) * 1024) / streams).toFixed(1);
  return { resident: of('resident'), live: of('live') };
}

/** @throws Error where a stream did not deliver all of its chunks in order: then no other number counts. */
function report(tallies: readonly Tally[]): void {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((all, tally) => all + of(tally), 0);
  const [lost, reordered] = [sum((tally) => tally.lost), sum((tally) => tally.reordered)];
  const incomplete = sum(({ isComplete }) => (isComplete ? 0 : 1));
  print(
    `streams ${tallies.length}, chunks ${sum(({ chunks }) => chunks)}, lost ${lost}, reordered ${reordered}, without their end ${incomplete}`,
  );
  if (lost + reordered + incomplete > 0) throw new Error('streams are not what they should be');
}

function save(agents: string, prompt: string): Promise<void> {
  return writeFile(
    path.join(agents, 'bench.yaml'),
    `apiVersion: svc/v1\nkind: Agent\nmetadata: { name: bench }\nspec: { type: chat_model_agent, system_prompt: ${prompt} }\n`,
  );
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1) ?? Number.NaN];
  return `p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)}, max ${most.toFixed(0)}`;
}

function row(...cells: readonly string[]): string {
  return cells.map((cell) => cell.padStart(12)).join('');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
