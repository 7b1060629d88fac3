import test from 'ava';
import { causesOf, messageOf } from '../../../foundation/base/failure.ts';
import { isDatabaseFull } from '../../../foundation/data/database.ts';
import { lostRace } from '../../../foundation/data/retry.ts';

test('the causes of an error come from the outside in, and what is no error ends them', (t) => {
  const inner = new Error('inner', { cause: 'a text' });
  const outer = new Error('outer', { cause: inner });
  t.deepEqual([...causesOf(outer)], [outer, inner]);
  t.deepEqual([...causesOf('a text')], []);
});

test('errors that are each other’s cause end the search for what a database reports', (t) => {
  const one: Error = new Error('one');
  one.cause = new Error('other', { cause: one });
  t.is([...causesOf(one)].length, 10);
  t.false(lostRace(one));
  t.false(isDatabaseFull(one));
});

test('whatever was thrown has words', (t) => {
  const cases: readonly [unknown, string][] = [
    [new Error('a reason'), 'a reason'],
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [Symbol('name'), 'Symbol(name)'],
    [Object.create(null), 'something that has no text was thrown'],
    [Object.assign(new Error(), { message: 7 }), '7'],
  ];
  for (const [thrown, words] of cases) t.is(messageOf(thrown), words);
});
