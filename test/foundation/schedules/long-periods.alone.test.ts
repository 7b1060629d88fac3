import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import pino from 'pino';
import { runPeriodically } from '../../../foundation/schedules/periodic.ts';

// It has a process of its own: it takes the timers of all that runs beside it.
test('a task of every month runs after a month', async (t) => {
  const timers = mock.timers;
  const day = 24 * 3_600_000;
  const delays: number[] = [];
  timers.enable({ apis: ['setInterval'] });
  t.teardown(() => timers.reset());
  const { setInterval: begin } = globalThis;
  globalThis.setInterval = ((work: () => void, delay: number) => {
    delays.push(delay);
    return begin(work, delay);
  }) as typeof begin;
  let runs = 0;
  const task = async () => {
    runs += 1;
  };
  const options = { name: 'report', milliseconds: 60 * day, task, immediately: false };
  const running = runPeriodically(options, new AbortController().signal, pino({ level: 'silent' }));
  t.teardown(running.stop);
  t.true(
    delays.every((delay) => delay < 2 ** 31),
    'Node takes a longer one for a millisecond',
  );
  timers.tick(60 * day - 1);
  t.is(runs, 0);
  timers.tick(1);
  t.is(runs, 1);
  await setImmediate();
  timers.tick(60 * day);
  t.is(runs, 2);
});
