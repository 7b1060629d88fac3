import test from 'ava';
import { lockRequest } from '../../../../foundation/leases/locks/lock-request.ts';

const KEYS: readonly (readonly [unknown, string])[] = [
  ['', 'The key is empty'],
  ['a'.repeat(201), 'The key is longer than 200 characters'],
  ['😀'.repeat(201), 'The key is longer than 200 characters'],
  ['a'.repeat(10_000), 'The key is longer than 200 characters'],
  ['a\nb', 'The key has a character that cannot be printed: U+000A at position 2'],
  ['a\0', 'The key has a character that cannot be printed: U+0000 at position 2'],
  ['\u2028', 'The key has a character that cannot be printed: U+2028 at position 1'],
  ['\ud800', 'The key has a character that cannot be printed: U+D800 at position 1'],
  [undefined, 'The key must be text, not undefined'],
  [7, 'The key must be text, not number'],
];

for (const [index, [key, message]] of KEYS.entries()) {
  test(`refused, ${index + 1}: ${message}`, (t) => {
    t.throws(() => lockRequest(key as string), { code: 'lock.invalid', message });
  });
}

test('accepted: all that can be printed, up to 200 characters', (t) => {
  for (const key of ['a', 'session:1/ä b', '😀'.repeat(200), '锁']) t.is(lockRequest(key).key, key);
});

test('leases and waits have defaults and bounds', (t) => {
  const { lease, wait } = lockRequest('k');
  t.deepEqual({ lease, wait }, { lease: 10_000, wait: 30_000 });
  t.throws(() => lockRequest('k', { lease: 999 }), { message: 'lease must be 1000 to 60000 ms, not 999' });
  t.throws(() => lockRequest('k', { lease: 60_001 }), { code: 'lock.invalid' });
  t.throws(() => lockRequest('k', { wait: Number.NaN }), {
    message: 'wait must be 1 to 3600000 ms, not NaN',
  });
  t.throws(() => lockRequest('k', { wait: Number.POSITIVE_INFINITY }), { code: 'lock.invalid' });
});
