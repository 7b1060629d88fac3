import test from 'ava';
import fc from 'fast-check';
import { createHashEmbeddings } from '../../../../../plugins/agent-engine/services/embeddings/hash-embeddings.ts';
import { cosine, toBytes } from '../../../../../plugins/agent-engine/services/embeddings/vector.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';

const { id, embed } = createHashEmbeddings();
const { signal } = new AbortController();

async function likeness(one: string, other: string): Promise<number> {
  const [first, second] = await embed([one, other], signal);
  return cosine(first!, second!);
}

test('the same text has the same vector today and in every later release of hash-v1', async (t) => {
  t.is(id, 'hash-v1:512');
  const [vector] = await embed(['The user likes green tea.'], signal);
  const places = [...vector!.entries()].filter(([, value]) => value !== 0).map(([place]) => place);
  t.deepEqual(places.slice(0, 6), PLACES);
});
// What is stored in databases was made with these; another result needs another id.
const PLACES = [27, 31, 32, 49, 82, 86];

for (const [one, other] of [
  ['GREEN Tea', 'green tea'],
  ['café crème', 'cafe creme'],
  ['ｆｕｌｌ　ｗｉｄｔｈ', 'full width'],
  ['e\u0301clair', '\u00e9clair'],
]) {
  test(`${one} and ${other} are the same`, async (t) => {
    t.true((await likeness(one!, other!)) > 0.999);
  });
}

const MEMORIES = [
  'Prefers answers in Norwegian, short and without emoji',
  'Works as a nurse at the hospital in Bergen',
  'The production database runs PostgreSQL 17 on port 6432',
  'Favourite dish: lasagne with spinach',
  'ユーザーは東京に住んでいます',
];
for (const [query, expected] of [
  ['which database do we run in production?', 2],
  ['what is my favorite dish', 3],
  ['answer in norwegian please', 0],
  ['nursing at a hospital', 1],
  ['東京', 4],
] as const) {
  test(`"${query}" finds the memory that shares its words, and only that`, async (t) => {
    const scores = await Promise.all(MEMORIES.map((memory) => likeness(query, memory)));
    t.is(scores.indexOf(Math.max(...scores)), expected);
    t.true(scores[expected]! >= 0.2, String(scores));
    t.true(
      scores.every((score, index) => index === expected || score < 0.2),
      String(scores),
    );
  });
}

test('every text has a vector of length 1 and of whole numbers of bytes, whatever is in it', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (text) => {
      const [vector] = await embed([text], signal);
      return Math.abs(Math.hypot(...vector!) - 1) < 1e-5 && toBytes(vector!).length === 2048;
    }),
  );
  for (const text of ['', ' ', '\0', '\ud800', '🙂', '…']) {
    t.is(Math.round(Math.hypot(...(await embed([text], signal))[0]!)), 1, JSON.stringify(text));
  }
  t.true((await likeness('🙂', '🚀')) < 0.5);
});

test('a megabyte of anything costs a bounded time', async (t) => {
  for (const piece of ['a', 'a ', '\u0301', '漢', '🙂']) {
    const start = cpuNow();
    await embed([piece.repeat((1 << 20) / piece.length)], signal);
    t.true(cpuNow() - start < 2000, piece);
  }
});

test('nothing is made for a caller who has left', async (t) => {
  await t.throwsAsync(embed(['x'], AbortSignal.abort(new Error('left'))), { message: 'left' });
});
