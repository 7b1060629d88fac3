import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { joinRun, type RunPool, runFolder } from '../support/run-pool.ts';

async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'run-pool-test-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return path.join(folder, 'run');
}

/** Two processes that run: this one, and the one that started it. */
const LIVING = [process.pid, process.ppid] as const;

async function joinTwice(folder: string): Promise<[RunPool, RunPool]> {
  return [await joinRun(folder, LIVING[0]), await joinRun(folder, LIVING[1])];
}

/** The id of a process that has ended. */
function ended(): number {
  return spawnSync(process.execPath, ['--version']).pid;
}

async function takeAll(pool: RunPool, kind: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let one = await pool.take(kind); one !== undefined; one = await pool.take(kind)) all.push(one);
  return all;
}

test('what one process puts there another one takes, of the kind it asks for', async (t) => {
  const [first, second] = await joinTwice(await emptyFolder(t));
  await first.put('empty', { name: 'a' });
  t.is(await second.take('full'), undefined);
  t.deepEqual(await second.take('empty'), { name: 'a' });
  t.is(await first.take('empty'), undefined);
});

test('of several that take at one time each thing has one taker', async (t) => {
  const pools = await joinTwice(await emptyFolder(t));
  const numbers = Array.from({ length: 12 }, (_, index) => index);
  for (const number of numbers) await pools[0].put('number', { number });
  const taken = await Promise.all([...pools, ...pools].map((pool) => takeAll(pool, 'number')));
  const found = taken.flat().map((one) => (one as { number: number }).number);
  t.deepEqual(
    found.sort((a, b) => a - b),
    numbers,
  );
});

test('the process that leaves last clears away what is left, and no other', async (t) => {
  const folder = await emptyFolder(t);
  const [first, second] = await joinTwice(folder);
  await first.put('thing', { of: 'first' });
  await first.leave(async () => t.fail('the second is still there'));
  t.true(existsSync(folder));
  let cleared: unknown[] = [];
  await second.leave(async () => {
    cleared = await takeAll(second, 'thing');
  });
  t.deepEqual(cleared, [{ of: 'first' }]);
  t.false(existsSync(folder));
});

test('a process that was killed keeps nobody from clearing away what it had put there', async (t) => {
  const folder = await emptyFolder(t);
  const killed = await joinRun(folder, ended());
  await killed.put('thing', { of: 'killed' });
  const last = await joinRun(folder, LIVING[0]);
  let cleared: unknown[] = [];
  await last.leave(async () => {
    cleared = await takeAll(last, 'thing');
  });
  t.deepEqual(cleared, [{ of: 'killed' }]);
  t.false(existsSync(folder));
});

test('one that joins while the last one clears away keeps its things', async (t) => {
  const folder = await emptyFolder(t);
  const first = await joinRun(folder, LIVING[0]);
  let joined: RunPool | undefined;
  await first.leave(async () => {
    joined = await joinRun(folder, LIVING[1]);
    await joined.put('thing', { of: 'second' });
  });
  t.deepEqual(await joined?.take('thing'), { of: 'second' });
});

test('one that joins when the folder of those before is gone makes it anew', async (t) => {
  const folder = await emptyFolder(t);
  const [first, second] = await joinTwice(folder);
  await rm(folder, { recursive: true });
  t.is(await second.take('thing'), undefined);
  await first.put('thing', { of: 'first' });
  t.deepEqual(await second.take('thing'), { of: 'first' });
});

test('a file is made for the first process that asks, and copied for the others', async (t) => {
  const folder = await emptyFolder(t);
  const [first, second] = await joinTwice(folder);
  const target = (name: string) => path.join(folder, '..', name);
  await first.copy('tables', target('one'), (file) => writeFile(file, 'made'));
  await second.copy('tables', target('two'), async () => t.fail('it is there'));
  t.is(await readFile(target('two'), 'utf8'), 'made');
  await writeFile(target('one'), 'changed');
  await second.copy('tables', target('three'), async () => t.fail('it is there'));
  t.is(await readFile(target('three'), 'utf8'), 'made');
  for (const pool of [first, second]) await pool.leave(async () => {});
  t.false(existsSync(folder));
});

test("a file that cannot be made is in nobody's way", async (t) => {
  const folder = await emptyFolder(t);
  const pool = await joinRun(folder, LIVING[0]);
  const target = path.join(folder, '..', 'one');
  await pool.copy('tables', target, async () => {});
  t.false(existsSync(target));
  await pool.copy('tables', target, (file) => writeFile(file, 'made'));
  t.true(existsSync(target));
});

test('the processes of a run have one folder, whichever asks', (t) => {
  t.is(runFolder(), runFolder());
  const asked = `import('${path.join(import.meta.dirname, '../support/run-pool.ts')}').then((m) => console.log(m.runFolder()))`;
  const { stdout } = spawnSync(process.execPath, ['--eval', asked], { encoding: 'utf8' });
  // Its parent is this process, not the one that runs the tests.
  t.regex(stdout, new RegExp(`gateway-run-(?:${process.pid}-|of-)\\d+`));
  t.not(stdout.trim(), runFolder());
});
