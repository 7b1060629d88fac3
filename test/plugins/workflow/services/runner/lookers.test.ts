import test from 'ava';
import { Lookers } from '../../../../../plugins/workflow/services/runner/mailbox.ts';

test('all who wait are told together, each once', async (t) => {
  const lookers = new Lookers();
  const looks = [lookers.wait(), lookers.wait()];
  lookers.tell(true);
  lookers.tell(false);
  t.deepEqual(await Promise.all(looks), [true, true]);
  t.true(lookers.isEmpty);
});

test('who comes later waits for the next look', async (t) => {
  const lookers = new Lookers();
  const first = lookers.wait();
  lookers.tell(true);
  const second = lookers.wait();
  t.false(lookers.isEmpty);
  lookers.tell(false);
  t.deepEqual(await Promise.all([first, second]), [true, false]);
});
