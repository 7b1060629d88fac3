import test from 'ava';
import { checkPlace, permitRequest } from '../../../../foundation/leases/permits/permit-request.ts';

test('a request is completed', (t) => {
  t.deepEqual(permitRequest('k', { name: 'n', limit: 0 }), {
    key: 'k',
    name: 'n',
    limit: 0,
    lease: 20_000,
    note: '',
  });
  const long = '😀'.repeat(200);
  t.is(permitRequest(long, { name: long, limit: 1_000_000, lease: 60_000, note: long }).key, long);
});

const WRONG: readonly [string, string, object, RegExp][] = [
  ['an empty key', '', {}, /key must have 1 to 200/],
  ['a long key', 'x'.repeat(201), {}, /key must have 1 to 200/],
  ['a very long name', 'k', { name: 'x'.repeat(1_000_000) }, /name must have 1 to 200/],
  ['a name that is none', 'k', { name: undefined }, /name must be text/],
  ['a line end', 'k', { name: 'a\n' }, /name has a character/],
  ['a NUL', 'k\0', {}, /key has a character/],
  ['half a surrogate pair', 'k', { note: '\ud800' }, /note has a character/],
  ['a fraction', 'k', { limit: 1.5 }, /limit must be a whole number/],
  ['a negative limit', 'k', { limit: -1 }, /limit must be 0 to 1000000/],
  ['a short lease', 'k', { lease: 999 }, /lease must be 1000 to 60000/],
  ['no lease', 'k', { lease: Number.NaN }, /lease must be/],
];
for (const [what, key, options, message] of WRONG) {
  test(`${what} is refused`, (t) => {
    t.throws(() => permitRequest(key, { name: 'n', limit: 1, ...options }), {
      code: 'permit.invalid',
      message,
    });
  });
}

test('a place is named like a request', (t) => {
  t.notThrows(() => checkPlace('k', 'n'));
  t.throws(() => checkPlace('k', ''), { code: 'permit.invalid' });
});
