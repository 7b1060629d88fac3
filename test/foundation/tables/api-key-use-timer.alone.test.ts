import { mock } from 'node:test';
import test from 'ava';
import { createLastUsed } from '../../../foundation/tables/api-key-use.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { until } from '../../support/until.ts';

test.serial(
  'notes are written by themselves after 5 seconds; a failure is reported once a minute, and tried again',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const written: string[][] = [];
    const errors: unknown[] = [];
    const answers = [new Error('away'), new Error('still away'), undefined];
    const database = {
      system: () => ({
        nativeUpdate: async (_entity: unknown, where: { id: { $in: string[] } }) => {
          const error = answers.shift();
          if (error !== undefined) throw error;
          written.push(where.id.$in);
        },
      }),
    } as never;
    const notes = createLastUsed({ database, clock: manualClock(), onError: (error) => errors.push(error) });
    try {
      notes.touch('a');
      notes.touch('b');
      mock.timers.tick(4999);
      await settle();
      t.is(answers.length, 3);
      mock.timers.tick(1);
      await settle();
      t.like(errors, { 0: { message: 'away' }, length: 1 });
      mock.timers.tick(5000);
      await settle();
      t.is(errors.length, 1);
      t.deepEqual(written, []);
      mock.timers.tick(5000);
      await settle();
      t.deepEqual(written, [['a', 'b']]);
    } finally {
      mock.timers.reset();
      await notes.close();
    }
  },
);

test.serial('close waits for a write that the timer has begun', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const answer = Promise.withResolvers<void>();
  const database = { system: () => ({ nativeUpdate: () => answer.promise }) } as never;
  const notes = createLastUsed({ database, clock: manualClock(), onError: (error) => t.fail(String(error)) });
  notes.touch('a');
  mock.timers.tick(5000);
  mock.timers.reset();
  let isClosed = false;
  const closing = notes.close().then(() => {
    isClosed = true;
  });
  await settle();
  t.false(isClosed);
  answer.resolve();
  await until(() => isClosed);
  await closing;
});

/** Lets promises that can settle do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
