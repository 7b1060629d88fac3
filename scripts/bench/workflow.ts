import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Order, Score, Shape } from './workflow/contender.ts';

/*
 * Steps a second of the workflow engine, compared with DBOS Transact and with the least that any engine with this data
 * can do (a bare loop of fused writes), on one PostgreSQL, in turn; and what `/jobs` costs compared with
 * `/v1/workflow-runs`. Quote the ratios: absolute numbers are the machine's.
 * `npm run bench:workflow [-- --quick] [-- --json]`. PostgreSQL: `BENCH_POSTGRES`, default
 * postgres://root@127.0.0.1:5432.
 */

const here = path.dirname(fileURLToPath(import.meta.url));
const SERVER = process.env.BENCH_POSTGRES ?? 'postgres://root@127.0.0.1:5432';
const isQuick = process.argv.includes('--quick');
const isJson = process.argv.includes('--json');
const ROUNDS = isQuick ? 1 : 3;
const MILLISECONDS = isQuick ? 2500 : 3000;
const SHAPES: readonly Shape[] = ['chain', 'fan'];
const CONCURRENCY = [1, 8, 32] as const;
/** Finished runs in the tables of the second engine. */
const HISTORY = isQuick ? 10_000 : 100_000;

/**
 * The contenders. `crowded` is the engine with many finished runs in its tables; `http` is `/v1/workflow-runs`, `jobs`
 * and `memory` are `/jobs` with jobs in PostgreSQL and in memory.
 */
const CONTENDERS = {
  engine: { file: 'engine.ts' },
  crowded: { file: 'engine.ts', history: HISTORY },
  http: { file: 'http.ts' },
  jobs: { file: 'jobs.ts', jobs: 'postgres' },
  memory: { file: 'jobs.ts', jobs: 'sqlite' },
  dbos: { file: 'dbos.ts' },
  bare: { file: 'bare-loop.ts' },
} as const;

type Name = keyof typeof CONTENDERS;

interface Running {
  readonly name: Name;
  measure(order: Order): Promise<Score>;
  close(): Promise<void>;
}

interface Result {
  readonly shape: Shape;
  readonly concurrency: number;
  readonly scores: Readonly<Record<Name, Score>>;
}

async function main(): Promise<void> {
  const admin = new pg.Client({ connectionString: `${SERVER}/postgres` });
  await admin.connect();
  const running: Running[] = [];
  try {
    for (const name of Object.keys(CONTENDERS) as Name[]) {
      await admin.query(`create database ${databaseOf(name)}`);
      running.push(await start(name));
    }
    await warmUp(running, admin);
    const results: Result[] = [];
    for (const shape of SHAPES) {
      for (const concurrency of CONCURRENCY) {
        const result = await compare(running, { shape, concurrency, milliseconds: MILLISECONDS });
        results.push(result);
        if (!isJson) process.stdout.write(`${lines(result).join('\n')}\n\n`);
      }
    }
    if (isJson) process.stdout.write(`${JSON.stringify({ history: HISTORY, results }, null, 2)}\n`);
  } finally {
    for (const contender of running) await contender.close();
    for (const name of Object.keys(CONTENDERS) as Name[])
      await admin.query(`drop database if exists ${databaseOf(name)} with (force)`);
    await admin.end();
  }
}

/**
 * Brings each contender into the state of a process that has run for long: its code is compiled, and the database has
 * statistics of its tables.
 */
async function warmUp(running: readonly Running[], admin: pg.Client): Promise<void> {
  for (const contender of running) {
    for (const shape of SHAPES) await contender.measure({ shape, concurrency: 8, milliseconds: 1500 });
  }
  for (const { name } of running) {
    const client = new pg.Client({ connectionString: `${SERVER}/${databaseOf(name)}` });
    await client.connect();
    await client.query('vacuum analyze');
    await client.end();
  }
  await admin.query('checkpoint');
}

/**
 * Medians over the rounds; within a round the contenders take turns, so that other load on the machine affects all of
 * them alike.
 */
async function compare(running: readonly Running[], order: Order): Promise<Result> {
  const scores = new Map<Name, Score[]>(running.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const contender of running) scores.get(contender.name)!.push(await contender.measure(order));
  }
  const medians = [...scores].map(([name, list]) => [name, medianScore(list)] as const);
  return {
    shape: order.shape,
    concurrency: order.concurrency,
    scores: Object.fromEntries(medians) as Record<Name, Score>,
  };
}

function medianScore(list: readonly Score[]): Score {
  const median = (of: (score: Score) => number) =>
    list.map(of).sort((a, b) => a - b)[Math.floor(list.length / 2)] as number;
  return {
    stepsPerSecond: median((score) => score.stepsPerSecond),
    p50: median((score) => score.p50),
    p99: median((score) => score.p99),
    cpu: median((score) => score.cpu),
  };
}

function lines({ shape, concurrency, scores }: Result): string[] {
  const rows = (Object.entries(scores) as [Name, Score][]).map(
    ([name, { stepsPerSecond, p50, p99, cpu }]) =>
      `  ${name.padEnd(8)} ${stepsPerSecond.toFixed(0).padStart(6)} steps/s   run p50 ${p50.toFixed(1).padStart(7)} ms  p99 ${p99.toFixed(1).padStart(7)} ms   ${cpu.toFixed(0).padStart(5)} µs CPU a step`,
  );
  const ratio = (a: Name, b: Name) => (scores[a].stepsPerSecond / scores[b].stepsPerSecond).toFixed(2);
  return [
    `${shape} of 10, ${concurrency} at a time`,
    ...rows,
    `  engine/dbos ${ratio('engine', 'dbos')}   engine/bare ${ratio('engine', 'bare')}   crowded/engine ${ratio('crowded', 'engine')}   http/engine ${ratio('http', 'engine')}   jobs/http ${ratio('jobs', 'http')}   memory/http ${ratio('memory', 'http')}`,
  ];
}

const databaseOf = (name: Name) => `workflow_bench_${name}_${process.pid}`;

/** Starts a contender in a process of its own, over its own database. */
async function start(name: Name): Promise<Running> {
  const contender: { readonly file: string; readonly history?: number; readonly jobs?: string } =
    CONTENDERS[name];
  const child = fork(path.join(here, 'workflow', contender.file), [], {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      BENCH_DATABASE_URL: `${SERVER}/${databaseOf(name)}`,
      BENCH_HISTORY: String(contender.history ?? 0),
      BENCH_JOBS: contender.jobs ?? '',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const answer = async <T>(): Promise<T> => {
    const [message] = await Promise.race([
      once(child, 'message'),
      ended.then(([code]) => {
        throw new Error(`${name} ended with ${code}`);
      }),
    ]);
    return message as T;
  };
  await answer<'ready'>();
  return {
    name,
    measure: (order) => {
      child.send(order);
      return answer<Score>();
    },
    close: async () => {
      if (child.connected) child.send('end');
      await ended;
    },
  };
}

await main();
