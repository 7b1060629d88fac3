import test from 'ava';
import { PollWaiters } from '../../../../../plugins/workflow/services/runner/mailbox.ts';

test('all who wait are told together, each once', async (t) => {
  const lookers = new PollWaiters();
  const looks = [lookers.wait(), lookers.wait()];
  lookers.resolve(true);
  lookers.resolve(false);
  t.deepEqual(await Promise.all(looks), [true, true]);
  t.true(lookers.isEmpty);
});

test('who comes later waits for the next look', async (t) => {
  const lookers = new PollWaiters();
  const first = lookers.wait();
  lookers.resolve(true);
  const second = lookers.wait();
  t.false(lookers.isEmpty);
  lookers.resolve(false);
  t.deepEqual(await Promise.all([first, second]), [true, false]);
});
