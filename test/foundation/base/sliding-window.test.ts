import test from 'ava';
import { MemoryWindow } from '../../../foundation/base/sliding-window.ts';

test('remembers a caller for at least a minute after it was last heard of', (t) => {
  const window = new MemoryWindow(1_000);
  window.log('first', 0);
  for (const spoke of [0, 1, 30_000, 59_999, 60_000, 119_999]) {
    const log = window.log('a', spoke);
    t.is(window.log('a', spoke + 59_999), log);
  }
});

test('forgets callers that stay silent', (t) => {
  const window = new MemoryWindow(1_000);
  for (let i = 0; i < 500; i += 1) window.log(`old ${i}`, 0);
  window.log('new', 60_000);
  window.log('new', 120_000);
  t.is(window.size, 1);
});

test('never remembers more than twice its bound, and keeps those that were heard of last', (t) => {
  const window = new MemoryWindow(100);
  const busy = window.log('busy', 0);
  for (let i = 0; i < 10_000; i += 1) {
    window.log(`flood ${i}`, 1);
    t.true(window.size <= 200);
    if (i % 50 === 0) t.is(window.log('busy', 1), busy);
  }
});
