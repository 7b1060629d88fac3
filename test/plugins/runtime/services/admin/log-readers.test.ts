import test from 'ava';
import {
  createLogReaders,
  type LogItem,
  MAX_READERS,
} from '../../../../../plugins/runtime/services/admin/log-readers.ts';

/** A log, and how many follow it. */
function fakeLog() {
  const listeners = new Set<(line: string) => void>();
  return {
    listeners,
    followLog(listener: (line: string) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    write: (level: string, msg: string) => {
      for (const listener of listeners) listener(`{"level":"${level}","msg":"${msg}"}\n`);
    },
  };
}

test('a slow reader loses the newest lines, learns how many, and goes on', async (t) => {
  const log = fakeLog();
  const readers = createLogReaders(log);
  const leave = new AbortController();
  const items = readers.follow('info', leave.signal);
  const next = async () => (await items.next()).value as LogItem;
  const first = next();
  log.write('debug', 'below the level');
  log.write('info', 'first');
  t.deepEqual(await first, { line: '{"level":"info","msg":"first"}' });
  for (let n = 0; n < 1_500; n += 1) log.write('warn', String(n));
  for (let n = 0; n < 1_000; n += 1) t.like(await next(), { line: `{"level":"warn","msg":"${n}"}` });
  t.deepEqual(await next(), { lost: 500 });
  log.write('error', 'after');
  t.deepEqual(await next(), { line: '{"level":"error","msg":"after"}' });
  leave.abort();
  t.true((await items.next()).done);
  t.is(log.listeners.size, 0);
});

test('long lines are bounded by their length, and a waiting reader ends with its signal and with the plugin', async (t) => {
  const log = fakeLog();
  const readers = createLogReaders(log);
  const items = readers.follow('trace', new AbortController().signal);
  const first = items.next();
  for (let n = 0; n < 3; n += 1) log.write('info', 'x'.repeat(600_000));
  t.true('line' in ((await first).value as LogItem));
  t.deepEqual((await items.next()).value, { lost: 2 });
  const leave = new AbortController();
  const other = readers.follow('info', leave.signal);
  const [waiting, second] = [items.next(), other.next()];
  t.is(log.listeners.size, 2);
  leave.abort();
  t.true((await second).done);
  readers.close();
  t.true((await waiting).done);
  t.is(log.listeners.size, 0);
});

test('there are so many readers and no more, whether they have begun to read or not', async (t) => {
  const log = fakeLog();
  const readers = createLogReaders(log);
  const open = Array.from({ length: MAX_READERS }, () => {
    const leave = new AbortController();
    return { leave, items: readers.follow('info', leave.signal) };
  });
  const full = { message: /8 are the most/, code: 'log.too-many-readers' };
  const follow = (signal = new AbortController().signal) => readers.follow('info', signal);
  t.throws(follow, full);
  t.is(log.listeners.size, 0, 'and nothing is kept for those who do not read');

  open[0]!.leave.abort();
  open[0]!.leave.abort();
  const second = follow();
  t.throws(follow, full, 'one place was given back, once');
  t.true((await open[0]!.items.next()).done);
  t.throws(follow, full);

  const reading = second.next();
  log.write('info', 'first');
  await reading;
  await second.return();
  const third = follow();
  t.throws(follow, full, 'a reader that ends by itself has given its place back');

  readers.close();
  t.true((await third.next()).done);
  for (let n = 0; n < 2 * MAX_READERS; n += 1) t.true((await follow().next()).done, 'none is left behind');
  t.is(log.listeners.size, 0);
});

test('a reader that has left before it was let in takes no place', (t) => {
  const readers = createLogReaders(fakeLog());
  for (let n = 0; n <= MAX_READERS; n += 1) {
    t.notThrows(() => readers.follow('info', AbortSignal.abort()));
  }
});
