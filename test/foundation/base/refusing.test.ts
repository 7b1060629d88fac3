import test from 'ava';
import type { FieldError } from '../../../foundation/base/gateway-error.ts';
import { refusing, requireSound, type UnreadBody } from '../../../foundation/base/refusing.ts';

const late: FieldError = { pointer: '/body/from', message: 'must not be after `to`' };
const untitled: FieldError = { pointer: '/body/title', message: 'is required' };
const refuse = refusing(({ from }: UnreadBody) => (from === 'late' ? [late] : []));

test('what breaks a schema and what breaks a rule are told in one answer, the schema first', (t) => {
  const error = refuse([untitled], { from: 'late' });
  t.is(error.code, 'request.invalid');
  t.deepEqual(error.extras.errors, [untitled, late]);
});

test('a place of which the schema complains is told once, in its words', (t) => {
  const mistyped: FieldError = { pointer: '/body/from', message: 'must be a date' };
  t.deepEqual(refuse([mistyped], { from: 'late' }).extras.errors, [mistyped]);
});

test('rules see no body that is no object', (t) => {
  const seen: unknown[] = [];
  const looking = refusing((body) => {
    seen.push(body);
    return [];
  });
  for (const body of [undefined, null, 7, 'late', [{ from: 'late' }]]) {
    t.deepEqual(looking([untitled], body).extras.errors, [untitled]);
  }
  t.deepEqual(seen, []);
});

test('a sound body passes, and of one that is not all problems are told', (t) => {
  t.notThrows(() => requireSound([]));
  const error = t.throws(() => requireSound([late, untitled]));
  t.like(error, { code: 'request.invalid', extras: { errors: [late, untitled] } });
});
