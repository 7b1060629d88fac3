import test from 'ava';
import { readNumbers } from '../../../scripts/bench/numbered-stream.ts';

function tallyOf(...pieces: readonly string[]) {
  const numbers = readNumbers();
  for (const piece of pieces) numbers.add(piece);
  numbers.done();
  return numbers.tally();
}

const whole = { chunks: 3, lost: 0, reordered: 0, isComplete: true };

test('a stream whose numbers come in order, in whatever pieces, is whole', (t) => {
  t.deepEqual(tallyOf('n0 ', 'n1 ', 'n2 ', 'end 3'), whole);
  t.deepEqual(tallyOf('n0 n', '1 n2', ' en', 'd 3'), whole);
  t.deepEqual(tallyOf(...'n0 n1 n2 end 3'), whole);
});

test('a number that does not come is lost, also the last', (t) => {
  t.deepEqual(tallyOf('n0 n2 end 3'), { ...whole, chunks: 2, lost: 1 });
  t.deepEqual(tallyOf('n0 n1 end 3'), { ...whole, chunks: 2, lost: 1 });
});

test('a number that comes late, or twice, is reordered', (t) => {
  t.deepEqual(tallyOf('n1 n0 n2 end 3'), { ...whole, reordered: 1 });
  t.deepEqual(tallyOf('n0 n1 n1 n2 end 3'), { ...whole, chunks: 4, reordered: 1 });
});

test('a stream without its count, or without its end, is not complete', (t) => {
  t.false(tallyOf('n0 n1 n2 ').isComplete);
  const numbers = readNumbers();
  numbers.add('n0 end 1');
  t.false(numbers.tally().isComplete);
});
