import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import type { Family } from '../../../foundation/data/family.ts';
import { createTableStore } from '../../../foundation/leases/table-store.ts';
import { everyPlan } from '../../../foundation/schedules/plan.ts';
import { scheduleRegistration } from '../../../foundation/schedules/schedule-table.ts';
import { runScheduled } from '../../../foundation/schedules/scheduled.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { FAMILIES } from '../../support/databases.ts';
import { gate } from '../../support/plugins.ts';
import { settled, until } from '../../support/until.ts';
import { clock, onEnd, openTestDatabase, replicaOf, silent } from '../leases/forms.ts';

/** Replicas on one database. */
async function setUp(t: ExecutionContext, family: Family = 'sqlite') {
  const opened = await openTestDatabase(t, family);
  if (opened === undefined) return undefined;
  const { database } = opened;
  await database.register(scheduleRegistration);
  const time = manualClock();
  return {
    time,
    /** Takes part in the task `acme.report`, on the database's clock or on the test's. */
    replica(
      task: (signal: AbortSignal) => Promise<void>,
      { every = 3_600_000, immediately = false, onTestClock = true, log = silent } = {},
    ) {
      const { leases, kill } = replicaOf(t, createTableStore(database, clock));
      const controller = new AbortController();
      const now = async () => (onTestClock ? time.now() : database.now());
      const parts = { database: { system: () => database.system(), now }, leases, log };
      const scheduled = { name: 'acme.report', plan: everyPlan(every), task, immediately };
      const running = runScheduled(scheduled, controller.signal, parts);
      let isDead = false;
      onEnd(t, async () => {
        const stopped = running.stop();
        // What a dead replica asks for is never answered.
        if (!isDead) await stopped;
      });
      const die = () => {
        isDead = true;
        kill();
      };
      return { kill: die, stop: running.stop, abort: () => controller.abort() };
    },
    /** When it is due, in milliseconds from the test's beginning. */
    async nextAt() {
      const [row] = await opened.fresh.ask('select next_at from kernel_schedules');
      return row === undefined ? undefined : Number(row.next_at) - manualClock().now();
    },
  };
}

test('a database that is away is one line in the log, however often it is asked', async (t) => {
  let asked = 0;
  const lines: unknown[] = [];
  const database = {
    system: () => t.fail() as never,
    async now(): Promise<number> {
      asked += 1;
      throw new Error('away');
    },
  };
  const log = { error: (fields: unknown) => lines.push(fields) } as never;
  const scheduled = { name: 'acme.report', plan: everyPlan(10), task: nothing, immediately: true };
  const leases = { tryAcquire: () => t.fail() as never };
  const running = runScheduled(scheduled, new AbortController().signal, { database, leases, log });
  onEnd(t, () => running.stop());
  await until(() => asked > 5);
  t.is(lines.length, 1);
});

const HOUR = 3_600_000;
const nothing = async () => {};

for (const family of FAMILIES) {
  test(`${family}: of several replicas one runs it each time, and no two at once`, async (t) => {
    const parts = await setUp(t, family);
    if (parts === undefined) return;
    const runs: number[] = [];
    let underWay = 0;
    let most = 0;
    const begun = performance.now();
    for (let index = 0; index < 3; index += 1) {
      const task = async () => {
        runs.push(index);
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setTimeout(resolve, 10));
        underWay -= 1;
      };
      parts.replica(task, { every: 200, onTestClock: false });
    }
    await until(() => runs.length >= 6);
    const passed = performance.now() - begun;
    t.is(most, 1);
    t.true(runs.length <= passed / 200 + 1, `${runs.length} runs in ${passed} ms`);
  });

  test(`${family}: the run of a replica that died is done by another one`, async (t) => {
    const parts = await setUp(t, family);
    if (parts === undefined) return;
    const { open, opened } = gate();
    const begun: string[] = [];
    const first = parts.replica(
      async () => {
        begun.push('first');
        await opened;
      },
      // So often that its lease is of 5 s, the shortest.
      { immediately: true, every: 10 },
    );
    await until(() => begun.length === 1);
    parts.replica(async () => void begun.push('second'), { every: 1_000 });
    await settled(() => begun.length);
    t.deepEqual(begun, ['first'], 'a run that goes on is waited for');
    first.kill();
    await until(() => begun.length > 1, 60_000);
    t.is(begun[1], 'second');
    open();
  });
}

test('a restart within the interval runs nothing, and one after many intervals runs it once', async (t) => {
  const parts = (await setUp(t))!;
  let runs = 0;
  const count = async () => {
    runs += 1;
  };
  const start = () => parts.replica(count, { immediately: true });
  const first = start();
  await until(async () => (await parts.nextAt()) === HOUR);
  t.is(runs, 1, 'at once where it never ran');
  await first.stop();

  parts.time.advance(HOUR - 1);
  const second = start();
  await settled(() => runs);
  t.is(runs, 1);
  await second.stop();

  parts.time.advance(10 * HOUR);
  start();
  await until(async () => (await parts.nextAt()) === 12 * HOUR - 1);
  await settled(() => runs);
  t.is(runs, 2);
});

test('without "immediately" the first run is after one interval, counted over restarts', async (t) => {
  const parts = (await setUp(t))!;
  let runs = 0;
  const count = async () => {
    runs += 1;
  };
  const first = parts.replica(count);
  await until(async () => (await parts.nextAt()) === HOUR);
  await first.stop();
  parts.time.advance(HOUR - 1);
  const second = parts.replica(count);
  await settled(() => runs);
  t.is(runs, 0);
  await second.stop();
  parts.time.advance(1);
  parts.replica(count);
  await until(() => runs === 1);
});

test('a run that failed counts, and one that was told to stop is done again', async (t) => {
  const parts = (await setUp(t))!;
  const failing = parts.replica(() => Promise.reject(new Error('no')), { immediately: true });
  await until(async () => (await parts.nextAt()) === HOUR);
  await failing.stop();

  parts.time.advance(HOUR);
  let begun = false;
  const stopped = parts.replica(async (signal) => {
    begun = true;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  await until(() => begun);
  const end = stopped.stop();
  stopped.abort();
  await end;
  t.is(await parts.nextAt(), HOUR, 'it is still due');
  let runs = 0;
  const count = async () => {
    runs += 1;
  };
  parts.replica(count);
  await until(async () => (await parts.nextAt()) === 2 * HOUR);
  t.is(runs, 1);
});

test('a task that fails each time fills no log, and says when it works again', async (t) => {
  const parts = (await setUp(t))!;
  const lines: { task?: string; msg?: string }[] = [];
  let runs = 0;
  let works = false;
  const task = async () => {
    runs += 1;
    if (!works) throw new Error('no server');
  };
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  parts.replica(task, { every: 20, immediately: true, onTestClock: false, log });
  await until(() => runs > 3);
  works = true;
  await until(() => lines.length > 1);
  t.deepEqual(
    lines.map(({ task, msg }) => [task, msg]),
    [
      ['acme.report', 'a scheduled task failed'],
      ['acme.report', 'a scheduled task works again'],
    ],
  );
});

test('a shorter interval holds from the next start on', async (t) => {
  const parts = (await setUp(t))!;
  const first = parts.replica(nothing, { every: 24 * HOUR });
  await until(async () => (await parts.nextAt()) === 24 * HOUR);
  await first.stop();
  parts.replica(nothing, { every: HOUR });
  await until(async () => (await parts.nextAt()) === HOUR);
  t.pass();
});
