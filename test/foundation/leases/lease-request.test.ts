import test from 'ava';
import { checkPlace, leaseRequest } from '../../../foundation/leases/lease-request.ts';

test('a request is completed', (t) => {
  const defaults = { limit: 1, ttl: 20_000, note: '', strict: false, wait: 30_000, signal: undefined };
  t.deepEqual(leaseRequest('k'), { key: 'k', name: '', ...defaults });
  const { signal } = new AbortController();
  const given = { name: 'n', limit: 0, ttl: 1_000, note: 'of', strict: true, wait: 1, signal };
  t.deepEqual(leaseRequest('k', given), { key: 'k', ...given });
});

test('accepted: all that can be printed, up to 200 characters', (t) => {
  const long = '😀'.repeat(200);
  for (const key of ['a', 'session:1/ä b', long, '锁']) t.is(leaseRequest(key).key, key);
  t.is(leaseRequest(long, { name: long, limit: 1_000_000, ttl: 60_000, note: long }).note, long);
});

const WRONG: readonly [string, unknown, object, RegExp][] = [
  ['an empty key', '', {}, /key must have 1 to 200/],
  ['a long key', 'x'.repeat(201), {}, /key must have 1 to 200/],
  ['a long key of characters of two units', '😀'.repeat(201), {}, /key must have 1 to 200/],
  ['a key that is none', undefined, {}, /key must be text, not undefined/],
  ['a key that is a number', 7, {}, /key must be text, not number/],
  ['a line separator', '\u2028', {}, /key has a character/],
  ['a NUL', 'k\0', {}, /key has a character/],
  ['an empty name', 'k', { name: '' }, /name must have 1 to 200/],
  ['a very long name', 'k', { name: 'x'.repeat(1_000_000) }, /name must have 1 to 200/],
  ['a line end', 'k', { name: 'a\n' }, /name has a character/],
  ['half a surrogate pair', 'k', { note: '\ud800' }, /note has a character/],
  ['a fraction', 'k', { limit: 1.5 }, /limit must be a whole number/],
  ['a negative limit', 'k', { limit: -1 }, /limit must be 0 to 1000000/],
  ['a limit for nameless holders', 'k', { limit: 2 }, /needs a name/],
  ['a short time', 'k', { ttl: 999 }, /ttl must be 1000 to 60000, not 999/],
  ['a long time', 'k', { ttl: 60_001 }, /ttl must be/],
  ['no time', 'k', { ttl: Number.NaN }, /ttl must be/],
  ['no wait', 'k', { wait: Number.NaN }, /wait must be 1 to 3600000, not NaN/],
  ['an endless wait', 'k', { wait: Number.POSITIVE_INFINITY }, /wait must be/],
];
for (const [what, key, options, message] of WRONG) {
  test(`${what} is refused`, (t) => {
    t.throws(() => leaseRequest(key as string, options), { code: 'lock.invalid', message });
  });
}

test('a place is named like a request', (t) => {
  t.notThrows(() => checkPlace('k', 'n'));
  t.notThrows(() => checkPlace('k', undefined));
  t.throws(() => checkPlace('k', ''), { code: 'lock.invalid' });
});
