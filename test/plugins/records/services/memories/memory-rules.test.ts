import test from 'ava';
import fc from 'fast-check';
import type { Memory } from '../../../../../plugins/records/contract.ts';
import { isUserId, memoryProblems } from '../../../../../plugins/records/services/memories/memory-rules.ts';
import {
  likeness,
  rank,
  score,
  toBytes,
  toVector,
  wordFit,
  wordsOf,
} from '../../../../../plugins/records/services/memories/rank.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';

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

const at = new Date(0);
const memory = (key: string, value: string): Memory => ({
  id: `id of ${key}`,
  userId: 'ana',
  key,
  value,
  metadata: {},
  createdAt: at,
  updatedAt: at,
});
const x = Float32Array.of(1, 0);
const y = Float32Array.of(0, 1);
const all = { limit: 10, threshold: 0.2 };

test('shared words and likeness each only add, from 0 to 1', (t) => {
  t.is(score(0, 0), 0);
  t.is(score(0, 1), 0.5);
  t.is(score(1, 0), 1);
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(unit, unit, (alike, words) => {
      const both = score(alike, words);
      return both >= alike - 1e-12 && both >= words / 2 - 1e-12 && both <= 1;
    }),
  );
});

test('meaning comes before words, and words decide between equals', async (t) => {
  const candidates = [
    { memory: memory('drink', 'coffee'), vector: y },
    { memory: memory('beverage', 'oolong'), vector: x },
    { memory: memory('tea', 'oolong'), vector: x },
  ];
  const found = await rank(candidates, { query: 'favourite tea', vector: Float32Array.of(0.9, 0.1), ...all });
  t.deepEqual(
    found.map(({ key }) => key),
    ['tea', 'beverage'],
  );
});

test('without vectors the words decide alone', async (t) => {
  const candidates = [
    { memory: memory('city', 'lives in Porto'), vector: undefined },
    { memory: memory('tea', 'likes green tea'), vector: x },
  ];
  const found = await rank(candidates, { query: 'green tea', vector: undefined, ...all });
  t.deepEqual(
    found.map(({ key, score: fit }) => [key, fit]),
    [['tea', 0.5]],
  );
});

test('the limit and the threshold hold, and of equals the first stays first', async (t) => {
  const candidates = Array.from({ length: 250 }, (_, index) => ({
    memory: memory(`k${index}`, 'tea'),
    vector: x,
  }));
  const found = await rank(candidates, { query: 'tea', vector: x, limit: 3, threshold: 0.2 });
  t.deepEqual(
    found.map(({ key }) => key),
    ['k0', 'k1', 'k2'],
  );
  t.deepEqual(await rank(candidates, { query: 'coffee', vector: y, limit: 3, threshold: 0.2 }), []);
});

test('a vector is the same after it was kept, wherever its bytes begin', (t) => {
  const vector = Float32Array.of(0.6, -0.8, 0);
  const bytes = toBytes(vector);
  t.is(bytes.length, 12);
  t.is(bytes.readFloatLE(4), Math.fround(-0.8));
  const shifted = Buffer.concat([Buffer.from([1]), bytes]).subarray(1);
  t.deepEqual(toVector(shifted), vector);
});

test('bytes that are no vector are none', (t) => {
  t.is(toVector(Buffer.alloc(0)), undefined);
  t.is(toVector(Buffer.alloc(7)), undefined);
});

test('likeness goes from 0 to 1', (t) => {
  const one = Float32Array.of(1, 0);
  t.is(likeness(one, one), 1);
  t.is(likeness(one, Float32Array.of(0, 1)), 0);
  t.is(likeness(one, Float32Array.of(-1, 0)), 0);
  t.is(likeness(one, Float32Array.of(1, 0, 0)), 0);
  t.is(likeness(one, Float32Array.of(Number.NaN, 0)), 0);
  t.is(likeness(one, Float32Array.of(2, 0)), 1);
});

test('words are compared without case, signs and forms of writing', (t) => {
  t.deepEqual([...wordsOf('Tea, TEA & "coffee"—ﬁne')], ['tea', 'coffee', 'fine']);
  t.deepEqual([...wordsOf('')], []);
});

test('scripts without blanks are compared by neighbouring characters', (t) => {
  t.deepEqual([...wordsOf('我喜欢茶')], ['我喜', '喜欢', '欢茶']);
  t.deepEqual([...wordsOf('茶')], ['茶']);
  for (const [asked, text] of [
    ['喜欢', '我喜欢茶'],
    ['กาแฟ', 'ฉันชอบกาแฟ'],
    ['ກາເຟ', 'ຂ້ອຍມັກກາເຟ'],
    ['កាហ្វេ', 'ខ្ញុំចូលចិត្តកាហ្វេ'],
  ])
    t.is(wordFit(wordsOf(asked!), wordsOf(text!)), 1, text);
});

test('the fit is the part of the asked words that a text holds', (t) => {
  t.is(wordFit(wordsOf('green tea'), wordsOf('likes green apples')), 0.5);
  t.is(wordFit(wordsOf(''), wordsOf('anything')), 0);
  t.is(wordFit(wordsOf('a b'), wordsOf('')), 0);
});

test('any text has a bounded number of words', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint, maxLength: 5000 }), (text) => {
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
