import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { giveRoom, TOKEN, withGateway } from './gateway.ts';
import { load, median } from './load.ts';

/*
 * How long the gateway takes to be ready, and how much memory it holds:
 * `npm run bench:start [-- --rounds 5] [-- --beside DIR]`. Each number is of a process of its own, started as
 * `npm start` does. README.md says how to read them.
 */

/** Milliseconds after which an idle process has collected its garbage. */
const SETTLE = 3_000;
const CHATS = 1_000;
const here = path.dirname(fileURLToPath(import.meta.url));
const own = path.join(here, '../..');

/** One start of one tree. Milliseconds and MiB. */
interface Start {
  readonly wall: number;
  readonly cpu: number;
  readonly idle: number;
  readonly loaded: number;
}

interface Tree {
  readonly root: string;
  readonly first: Start[];
  readonly warm: Start[];
}

const option = (name: string) => {
  const index = process.argv.indexOf(name);
  return index < 0 ? undefined : process.argv[index + 1];
};

async function main(): Promise<void> {
  const rounds = Number(option('--rounds') ?? 5);
  const beside = option('--beside');
  const trees: Tree[] = [own, ...(beside === undefined ? [] : [path.resolve(beside)])].map((root) => ({
    root,
    first: [],
    warm: [],
  }));
  // In turn, so that the machine's other work hits all alike. The compile cache of a tree is deleted before each
  // `first` start.
  for (let round = 0; round < rounds; round += 1) {
    for (const { root, first, warm } of trees) {
      await rm(path.join(root, 'node_modules/.cache/gateway'), { recursive: true, force: true });
      first.push(await measure(root));
      warm.push(await measure(root));
    }
  }
  for (const { root, first, warm } of trees) {
    print(`\n${root}: ${await countModules(root)} modules, ${rounds} rounds, medians`);
    print(row('', 'ready ms', 'CPU ms', 'idle MiB', `${CHATS} chats`));
    for (const [title, starts] of Object.entries({ first, warm })) {
      const of = (read: (start: Start) => number) => median(starts.map(read)).toFixed(0);
      print(
        row(
          title,
          of((s) => s.wall),
          of((s) => s.cpu),
          of((s) => s.idle),
          of((s) => s.loaded),
        ),
      );
    }
  }
}

/** Starts a tree with a data folder of its own, has it answer, and stops it. */
async function measure(root: string): Promise<Start> {
  return withGateway(root, {}, async (child, wall) => {
    const cpu = child.cpu() / 1000;
    await pause(SETTLE);
    const idle = child.memory();
    await giveRoom(child.url, 1000);
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'Hello' }] });
    const shot = { path: '/v1/chat/completions', method: 'POST', headers, body } as const;
    await load(child.url, shot, CHATS, 8);
    return { wall, cpu, idle, loaded: child.memory() };
  });
}

/** Modules that are loaded until it is ready, those of Node excepted. */
async function countModules(root: string): Promise<number> {
  const file = path.join(here, 'count-modules.ts');
  return withGateway(root, { NODE_OPTIONS: `--import=${file}` }, async (child) => {
    child.process.kill('SIGUSR2');
    return Number(await child.line(/^modules (\d+)$/m));
  });
}

function row(...cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(8) : cell.padStart(12))).join('');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
