import test from 'ava';
import {
  createEventLog,
  type NumberedEvents,
} from '../../../../../plugins/runtime/services/chat/event-log.ts';

const text = (delta: string) => ({ type: 'text' as const, data: { delta } });
const deltas = ({ seq, events }: NumberedEvents) => [seq, ...events.map(({ data }) => data?.delta)];

/** A log over a store whose writes end when they are told to. */
function slowStore() {
  const begun: (NumberedEvents & { readonly end: (failure?: Error) => void })[] = [];
  const log = createEventLog(
    (batch) =>
      new Promise((resolve, reject) => {
        begun.push({ ...batch, end: (failure) => (failure ? reject(failure) : resolve()) });
      }),
    { now: () => 7 },
  );
  return { log, begun };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what comes while a write is under way goes with the next one, numbered without gaps', async (t) => {
  const { log, begun } = slowStore();
  for (const delta of ['a', 'b', 'c']) t.is(log.add(text(delta)), undefined);
  t.deepEqual(begun.map(deltas), [[1, 'a']]);
  begun[0]?.end();
  await turn();
  t.deepEqual(begun.map(deltas), [
    [1, 'a'],
    [2, 'b', 'c'],
  ]);
  t.is(begun[1]?.events[0]?.at, 7);
  begun[1]?.end();
  await log.written();
  void log.add(text('d'));
  t.deepEqual(deltas(begun[2]!), [4, 'd']);
});

test('a chat that is faster than the database waits for it', async (t) => {
  const { log, begun } = slowStore();
  const many = Array.from({ length: 600 }, (_, index) => log.add(text(String(index))));
  t.is(many[400], undefined);
  t.true(many.at(-1) instanceof Promise);
  const { log: other } = slowStore();
  t.true(other.add(text('x'.repeat(300_000))) instanceof Promise, 'long texts count as well');
  begun[0]?.end();
  await turn();
  begun[1]?.end();
  await many.at(-1);
  t.is(begun[1]?.events.length, 599);
});

test('what a failed write has not stored is in the rest, and the log throws', async (t) => {
  const { log, begun } = slowStore();
  void log.add(text('a'));
  void log.add(text('b'));
  begun[0]?.end(new Error('away'));
  await t.throwsAsync(log.written(), { message: 'away' });
  await t.throwsAsync(log.add(text('c'))!, { message: 'away' });
  t.deepEqual(deltas(log.rest([text('end')])), [1, 'a', 'b', 'end']);
  t.is(begun.length, 1);
});
