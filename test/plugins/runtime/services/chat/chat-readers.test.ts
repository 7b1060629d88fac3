import test from 'ava';
import { createChatReaders } from '../../../../../plugins/runtime/services/chat/chat-readers.ts';

test('the session is free when the end of a chat that this process runs is read', async (t) => {
  const happened: string[] = [];
  const events = [
    { type: 'text', at: 0, data: { delta: 'Hello' } },
    { type: 'done', at: 0, data: null },
  ];
  const row = { chatId: 'c', seq: 1, sessionId: 's', events: JSON.stringify(events), createdAt: 0 };
  const ended = Promise.withResolvers<void>();
  const readers = createChatReaders({
    database: { forTenant: () => ({ rows: async () => [row] }) as never },
    leases: { find: async () => undefined },
    clock: { now: () => 0 },
    runningHere: () => ended.promise,
    leaseKey: (tenantId) => tenantId,
  });
  const reading = readers.follow('t', { chatId: 'c', seq: 0 }, new AbortController().signal);
  happened.push((await reading.next()).value!.event.type);
  const last = reading.next().then(({ value }) => happened.push(value!.event.type));
  await new Promise(setImmediate);
  happened.push('disposed');
  ended.resolve();
  await last;
  t.deepEqual(happened, ['text', 'disposed', 'done']);
});
