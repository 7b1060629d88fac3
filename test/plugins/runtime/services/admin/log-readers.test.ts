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

test('there are so many readers and no more', async (t) => {
  const log = fakeLog();
  const readers = createLogReaders(log);
  const open = Array.from({ length: MAX_READERS }, () =>
    readers.follow('info', new AbortController().signal).next(),
  );
  t.throws(readers.requirePlace, { message: /8 are the most/ });
  readers.close();
  await Promise.all(open);
  t.notThrows(readers.requirePlace);
});
