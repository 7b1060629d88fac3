import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import pino from 'pino';
import { runPeriodically } from '../../../foundation/schedules/periodic.ts';
import { manualClock } from '../../../testing/index.ts';
import { until } from '../../../testing/until.ts';

test('a task that fails each time goes on, and fills no log; another failure is logged at once', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock = manualClock();
  let runs = 0;
  let failure = 'no server';
  const task = async () => {
    runs += 1;
    await sleep(0);
    throw new Error(failure);
  };
  const options = { name: 'sweep', milliseconds: 5, task, immediately: true };
  const running = runPeriodically(options, new AbortController().signal, log, clock);
  t.teardown(running.stop);
  await until(() => runs > 5);
  t.is(lines.length, 1);
  t.like(lines[0], { task: 'sweep', times: 1, err: { message: 'no server' } });
  clock.advance(60_000);
  await until(() => lines.length === 2);
  t.true(Number(lines[1]?.times) >= 5);
  failure = 'no file';
  await until(() => lines.length === 3);
  t.like(lines[2], { times: 1, err: { message: 'no file' } });
});

test('a task that throws before it returns a promise is logged like any other, and ends nothing', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let runs = 0;
  const task = () => {
    runs += 1;
    throw new Error('not even begun');
  };
  const options = { name: 'sweep', milliseconds: 5, task, immediately: true };
  const running = runPeriodically(options, new AbortController().signal, log, manualClock());
  t.teardown(running.stop);
  await until(() => runs > 2);
  t.is(lines.length, 1);
  t.like(lines[0], { task: 'sweep', err: { message: 'not even begun' } });
});

test('a task that works again says so once, and only where its failure was logged', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let runs = 0;
  let works = false;
  const task = async () => {
    runs += 1;
    if (!works) throw new Error('no server');
  };
  const options = { name: 'sweep', milliseconds: 5, task, immediately: true };
  const running = runPeriodically(options, new AbortController().signal, log, manualClock());
  t.teardown(running.stop);
  const turn = async (succeeds: boolean) => {
    works = succeeds;
    const before = runs;
    await until(() => runs > before + 2);
  };
  await turn(false);
  await turn(true);
  // Within the same minute: neither the failure nor its end.
  await turn(false);
  await turn(true);
  t.deepEqual(
    lines.map(({ msg }) => msg),
    ['a periodic task failed', 'a periodic task works again'],
  );
});
