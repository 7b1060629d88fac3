import test from 'ava';
import { KeyedTurns } from '../../../../foundation/objects/files/keyed-turns.ts';

test('one key is worked on by one at a time, in order, also after a failure', async (t) => {
  const turns = new KeyedTurns();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, wait: Promise<void>) => async () => {
    order.push(`${name} begins`);
    await wait;
    order.push(`${name} ends`);
  };
  const first = turns.take('a', work('first', gate.promise));
  const failing = turns.take('a', () => Promise.reject(new Error('failed')));
  const last = turns.take('a', work('last', Promise.resolve()));
  await turns.take('b', work('other', Promise.resolve()));
  t.deepEqual(order, ['first begins', 'other begins', 'other ends']);
  gate.resolve();
  await first;
  await t.throwsAsync(failing, { message: 'failed' });
  await last;
  t.deepEqual(order.slice(3), ['first ends', 'last begins', 'last ends']);
});
