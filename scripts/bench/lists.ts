import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { Agent, request } from 'undici';
import { systemClock } from '../../foundation/base/clock.ts';
import { type Database, openDatabase } from '../../foundation/data/database.ts';
import type { Family } from '../../foundation/data/family.ts';
import { registerKernelTables } from '../../foundation/gateway-tables.ts';
import records from '../../plugins/records/plugin.ts';
import { findThroughDay } from '../../plugins/records/store/usage-days.ts';
import runtime from '../../plugins/runtime/plugin.ts';
import workflow from '../../plugins/workflow/plugin.ts';
import { type Child, startCommand } from './child.ts';
import { GATEWAY, gatewayEnvironment } from './gateway.ts';
import { type Filled, fillTables, type Sizes } from './lists/large-tables.ts';
import { type OwnDatabase, ownDatabase } from './lists/own-databases.ts';
import { type Question, questionsAbout } from './lists/questions.ts';
import { percentile } from './load.ts';

/*
 * How long lists and reports take over large tables, compared with the same over small ones: over HTTP, one request
 * after the other, of two gateways in turn. `npm run bench:lists [-- sqlite postgres mysql] [-- --quick] [-- --keep]
 * [-- --only usage]`. README.md says how to read it.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** A tenth of the rows, and fewer requests. */
    quick: { type: 'boolean', default: false },
    /** Leaves the databases for the next run, which then does not fill them. */
    keep: { type: 'boolean', default: false },
    /** Only questions with this text in their titles. */
    only: { type: 'string', default: '' },
  },
});

const FAMILIES: readonly Family[] = ['sqlite', 'postgres', 'mysql'];
const SMALL: Sizes = {
  usage: 10_000,
  sessions: 10_000,
  receipts: 10_000,
  audit: 10_000,
  runs: 10_000,
  conversations: 10_000,
  definitions: 1_000,
  files: 1_000,
};
const LARGE: Sizes = {
  usage: 1_000_000,
  sessions: 100_000,
  receipts: 100_000,
  audit: 100_000,
  runs: 100_000,
  conversations: 100_000,
  definitions: 10_000,
  files: 10_000,
};
/** Requests of one kind to one gateway, and the milliseconds after which the benchmark sends no more of them. */
const REQUESTS = options.quick ? 10 : 40;
const PATIENCE = 8_000;
const WARM_UP = 3;
const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds that a gateway may take to add up 24 months of usage. */
const ADD_UP_DEADLINE = 15 * 60_000;

async function main(): Promise<void> {
  const unknown = positionals.filter((name) => !FAMILIES.includes(name as Family));
  if (unknown.length > 0)
    throw new Error(`no database: ${unknown.join(', ')}; choose of ${FAMILIES.join(', ')}`);
  const families = positionals.length === 0 ? FAMILIES : (positionals as Family[]);
  const folder = options.keep
    ? path.join(tmpdir(), 'gateway-lists')
    : await mkdtemp(path.join(tmpdir(), 'gateway-lists-'));
  try {
    for (const family of families) await compare(family, folder);
  } finally {
    if (!options.keep) await rm(folder, { recursive: true, force: true });
  }
}

/** A gateway over filled tables. */
interface Side {
  readonly gateway: Child;
  readonly questions: readonly Question[];
  close(): Promise<void>;
}

async function compare(family: Family, folder: string): Promise<void> {
  const small = await openSide(family, folder, SMALL);
  const large = await openSide(family, folder, options.quick ? tenth(LARGE) : LARGE);
  try {
    print(`\n${family}, ms`);
    print(row('', ['10k p50', 'p95', 'large p50', 'p95', 'ratio']));
    for (const [index, question] of large.questions.entries()) {
      if (!question.title.includes(options.only)) continue;
      const twin = small.questions[index]!;
      const [few, many] = await inTurn([small.gateway, twin], [large.gateway, question]);
      const cells = [few, many].flatMap((times) => [percentile(times, 0.5), percentile(times, 0.95)]);
      const ratio = percentile(many, 0.5) / percentile(few, 0.5);
      print(
        row(
          question.title,
          [...cells, ratio].map((cell) => cell.toFixed(1)),
        ),
      );
    }
  } finally {
    await small.close();
    await large.close();
  }
}

const tenth = (sizes: Sizes) =>
  Object.fromEntries(
    Object.entries(sizes).map(([name, rows]) => [name, Math.floor(rows / 10)]),
  ) as unknown as Sizes;

async function openSide(family: Family, folder: string, sizes: Sizes): Promise<Side> {
  const name = `gateway_lists_${sizes.usage}${options.keep ? '' : `_${process.pid}`}`;
  const database = await ownDatabase(family, name, folder);
  const { filled, now } = await filledTables(database, path.join(folder, `${family}-${name}.json`), sizes);
  const data = await mkdtemp(path.join(folder, 'data-'));
  const gateway = await startCommand(process.execPath, GATEWAY, {
    env: { ...gatewayEnvironment(data), ...database.environment },
  });
  await untilAddedUp(database, sizes);
  return {
    gateway,
    questions: questionsAbout(sizes, filled, now),
    async close() {
      await gateway.stop();
      await rm(data, { recursive: true, force: true });
      if (!options.keep) await database.drop();
    },
  };
}

/** Fills a database, unless it was kept; the facts about its rows are in `note`. */
async function filledTables(
  database: OwnDatabase & { readonly isNew: boolean },
  note: string,
  sizes: Sizes,
): Promise<{ readonly filled: Filled; readonly now: number }> {
  if (!database.isNew) return JSON.parse(await readFile(note, 'utf8'));
  const now = Date.now();
  const began = performance.now();
  const opened = await open(database);
  try {
    const filled = await fillTables(opened, sizes, now);
    await database.analyze();
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    print(`${database.family}: ${sizes.usage} usage records and the rest written in ${seconds} s`);
    await writeFile(note, JSON.stringify({ filled, now }));
    return { filled, now };
  } finally {
    await opened.close();
  }
}

/** The database with the tables of the plugins whose lists are measured. */
async function open({ family: driver, place }: OwnDatabase): Promise<Database> {
  const opened = await openDatabase({ driver, ...place, log: pino({ level: 'silent' }), clock: systemClock });
  await registerKernelTables(opened);
  for (const { name: owner, entities = [], migrations = [] } of [records, workflow, runtime])
    await opened.register({ owner, entities, migrations });
  return opened;
}

/** Waits until the gateway has added up all days of usage, as it does by itself after its start. */
async function untilAddedUp(database: OwnDatabase, { usage }: Sizes): Promise<void> {
  const opened = await open(database);
  const began = performance.now();
  const due = new Date(Date.now() - 2 * DAY).toISOString().slice(0, 10);
  try {
    if ((await findThroughDay(opened)) >= due) return;
    while ((await findThroughDay(opened)) < due) {
      if (performance.now() - began > ADD_UP_DEADLINE) throw new Error('the usage was not added up in time');
      await pause(250);
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    print(`${database.family}: ${usage} usage records added up by the gateway in ${seconds} s`);
    await database.analyze();
  } finally {
    await opened.close();
  }
}

type Target = readonly [Child, Question];

/** Asks both in turn, so that the machine's other work hits both alike. Milliseconds of each, sorted. */
async function inTurn(
  ...targets: readonly [Target, Target]
): Promise<[readonly number[], readonly number[]]> {
  const agent = new Agent({ connections: 1 });
  const times: [number[], number[]] = [[], []];
  const until = performance.now() + PATIENCE;
  for (let round = 0; round < REQUESTS + WARM_UP; round += 1) {
    if (performance.now() > until && times[0].length >= 3) break;
    for (const [side, [gateway, { path: where, key }]] of targets.entries()) {
      const sent = performance.now();
      const { statusCode, body } = await request(`${gateway.url}${where}`, {
        headers: { authorization: `Bearer ${key}` },
        dispatcher: agent,
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${where} answered ${statusCode}: ${text}`);
      if (round >= WARM_UP) times[side]!.push(performance.now() - sent);
    }
  }
  await agent.close();
  for (const each of times) each.sort((a, b) => a - b);
  return times;
}

function row(title: string, cells: readonly string[]): string {
  return title.padEnd(60) + cells.map((cell) => cell.padStart(11)).join('');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
