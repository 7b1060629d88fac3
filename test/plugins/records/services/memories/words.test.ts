import test from 'ava';
import fc from 'fast-check';
import { wordFit, wordsOf } from '../../../../../plugins/records/services/memories/words.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';

test('words are compared without case, signs and forms of writing', (t) => {
  t.deepEqual([...wordsOf('Tea, TEA & "coffee"—ﬁne')], ['tea', 'coffee', 'fine']);
  t.deepEqual([...wordsOf('')], []);
});

test('scripts without blanks are compared by neighbouring characters', (t) => {
  t.deepEqual([...wordsOf('我喜欢茶')], ['我喜', '喜欢', '欢茶']);
  t.deepEqual([...wordsOf('茶')], ['茶']);
  t.true(wordFit(wordsOf('喜欢'), wordsOf('我喜欢茶')) === 1);
});

test('the fit is the part of the asked words that a text holds', (t) => {
  t.is(wordFit(wordsOf('green tea'), wordsOf('likes green apples')), 0.5);
  t.is(wordFit(wordsOf(''), wordsOf('anything')), 0);
  t.is(wordFit(wordsOf('a b'), wordsOf('')), 0);
});

test('any text has a bounded number of words', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
      const words = wordsOf(text);
      return words.size <= 2300 && wordFit(words, words) === (words.size === 0 ? 0 : 1);
    }),
  );
  t.pass();
});

test('a megabyte costs no more than its beginning', (t) => {
  const start = cpuNow();
  for (const piece of ['a', 'a ', '́', '茶']) wordsOf(piece.repeat(1_000_000 / piece.length));
  t.true(cpuNow() - start < 500);
});
