import test from 'ava';
import { isUserId, memoryProblems } from '../../../../../plugins/records/services/memories/memory-rules.ts';

const pointers = (memory: Parameters<typeof memoryProblems>[1], userId = 'ana') =>
  memoryProblems(userId, memory).map(({ pointer }) => pointer);

test('a key has 1 to 128 characters, whatever they are, but no control characters', (t) => {
  for (const key of [
    'a',
    'likes/tea?',
    'über 日本 🍵',
    '...',
    '🍵'.repeat(128),
    'constructor',
    '__proto__',
  ]) {
    t.deepEqual(pointers({ key, value: 'x' }), [], key);
  }
  for (const key of ['', '.', '..', 'a\0', 'a\nb', '\u0085', '\ud800', 'a'.repeat(129), '🍵'.repeat(129)]) {
    t.deepEqual(pointers({ key, value: 'x' }), ['/key'], JSON.stringify(key));
  }
  t.deepEqual(pointers({ value: 'x' }), [], 'absent');
});

test('a value has 1 to 8,192 characters, counted as people do', (t) => {
  for (const value of ['x', 'x'.repeat(8192), '🍵'.repeat(8192), '\0\ud800'])
    t.deepEqual(pointers({ value }), []);
  for (const value of ['', 'x'.repeat(8193), '🍵'.repeat(8193), 'x'.repeat(1_000_000)]) {
    t.deepEqual(pointers({ value }), ['/value']);
  }
});

test('all that is wrong is told together', (t) => {
  const memory = { key: '', value: '', metadata: { text: 'x'.repeat(8192) } };
  t.deepEqual(pointers(memory, ''), ['/headers/x-svc-user-id', '/key', '/value', '/metadata']);
});

test('a user id has 1 to 255 characters', (t) => {
  for (const id of ['a', 'x'.repeat(255), 'ana@example.com', 'a b']) t.true(isUserId(id), id);
  for (const id of ['', 'x'.repeat(256), 'a\0', 'a\tb']) t.false(isUserId(id), JSON.stringify(id));
});
