import test from 'ava';
import Type from 'typebox';
import { defineEvent } from '../../../../foundation/messages/events/events.ts';
import { openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { openReplica } from './events-kit.ts';

test('an event has the id and the schema that it was declared with', (t) => {
  const schema = Type.Object({ sessionId: Type.String() });
  t.deepEqual(defineEvent('platform.session-aborted', schema), {
    kind: 'event',
    id: 'platform.session-aborted',
    schema,
  });
});

test('an id that other replicas could not read is refused', (t) => {
  const bad = [
    '',
    'platform',
    'Platform.aborted',
    'a b.c',
    'a..b',
    '.a',
    'a.',
    '!a.b',
    'a.1',
    `a.${'b'.repeat(127)}`,
    'a.b\n',
  ];
  for (const id of bad) t.throws(() => defineEvent(id, Type.Object({})), { instanceOf: TypeError }, id);
  t.notThrows(() => defineEvent(`a.${'b'.repeat(126)}`, Type.Object({})));
});

test('a channel is a name of 1 to 50 bytes', (t) => {
  const open = (channel: string) => openEvents({ channel } as never);
  for (const channel of ['', 'x'.repeat(51), 'ü'.repeat(26), 'a\0b']) {
    t.throws(() => open(channel), { instanceOf: TypeError }, channel);
  }
});

test('the compiler and the gateway refuse the same payloads', async (t) => {
  const { events } = openReplica(t, {});
  const Aborted = defineEvent('test.aborted', Type.Object({ sessionId: Type.String() }));
  // @ts-expect-error a member is missing
  t.throws(() => events.emit(Aborted, {}));
  // @ts-expect-error a member has another type
  t.throws(() => events.emit(Aborted, { sessionId: 1 }));
  const undo = events.on(Aborted, ({ sessionId }) => void sessionId.length);
  // @ts-expect-error there is no such member
  events.on(Aborted, ({ other }) => void other);
  undo();
});
