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

test('rules add a hundred problems at most', (t) => {
  const many = refusing(() =>
    Array.from({ length: 200_000 }, (_, n) => ({ ...late, pointer: `/body/${n}` })),
  );
  t.is(many([untitled], {}).extras.errors?.length, 101);
});

test('rules see no body that is no object', (t) => {
  const missing: FieldError = { pointer: '/body', message: 'must be an object' };
  const seen: unknown[] = [];
  const looking = refusing((body) => {
    seen.push(body);
    return [];
  });
  for (const body of [undefined, null, 7, 'late', [{ from: 'late' }]]) {
    t.deepEqual(looking([missing], body).extras.errors, [missing]);
  }
  t.deepEqual(seen, []);
});

test('rules see the query too, which is empty where the route has none', (t) => {
  const needed: FieldError = {
    pointer: '/body/title',
    message: 'is needed where the query has no `copy_of`',
  };
  const either = refusing(({ title }, { copy_of }) => ((title ?? copy_of) ? [] : [needed]));
  const mistyped: FieldError = { pointer: '/body/from', message: 'must be a date' };
  t.deepEqual(either([mistyped], {}).extras.errors, [mistyped, needed]);
  t.deepEqual(either([mistyped], {}, { copy_of: '7' }).extras.errors, [mistyped]);
});

test('rules of a route without a body see its query', (t) => {
  const early: FieldError = { pointer: '/query/to', message: 'must not be before `from`' };
  const listing = refusing((_, { to }) => (to === 'early' ? [early] : []));
  const mistyped: FieldError = { pointer: '/query/limit', message: 'must be an integer' };
  t.deepEqual(listing([mistyped], undefined, { to: 'early' }).extras.errors, [mistyped, early]);
});

test('a sound body passes, and of one that is not all problems are told', (t) => {
  t.notThrows(() => requireSound([]));
  const error = t.throws(() => requireSound([late, untitled]));
  t.like(error, { code: 'request.invalid', extras: { errors: [late, untitled] } });
});
