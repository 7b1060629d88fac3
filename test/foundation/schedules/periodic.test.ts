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
