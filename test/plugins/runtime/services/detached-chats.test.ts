import test from 'ava';
import { createDetachedChats } from '../../../../plugins/runtime/services/detached-chats.ts';
import { V3ChatErrors } from '../../../../plugins/runtime/services/v3-chat/chat-record.ts';

const never = new AbortController().signal;

test('a stop waits for chats that begin while it waits, and for what these come to', async (t) => {
  const chats = createDetachedChats();
  const beginning = Promise.withResolvers<string>();
  const chat = Promise.withResolvers<void>();
  const begun = chats.add(beginning.promise).then(() => chats.add(chat.promise));
  let isClosed = false;
  const closed = chats.close(never).then(() => {
    isClosed = true;
  });
  beginning.resolve('begun');
  await beginning.promise;
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  t.false(isClosed);
  chat.resolve();
  await begun;
  await closed;
  t.false(chats.signal.aborted);
});

test('a chat that fails does not end the wait for the others', async (t) => {
  const chats = createDetachedChats();
  const other = Promise.withResolvers<void>();
  let isOver = false;
  const ended = chats.add(other.promise).then(() => {
    isOver = true;
  });
  await t.throwsAsync(chats.add(Promise.reject(new Error('refused'))));
  const closed = chats.close(never);
  other.resolve();
  await closed;
  t.true(isOver);
  await ended;
});

test('chats fail as lost when the time of a stop is over, also of one that came too late', async (t) => {
  for (const isLate of [false, true]) {
    const chats = createDetachedChats();
    const over = new AbortController();
    if (isLate) over.abort();
    const chat = chats.add(
      new Promise<void>((resolve) => chats.signal.addEventListener('abort', () => resolve())),
    );
    const closed = chats.close(over.signal);
    over.abort();
    await Promise.all([chat, closed]);
    t.true(V3ChatErrors.lost.is(chats.signal.reason));
  }
});
