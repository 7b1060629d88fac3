import test from 'ava';
import fc from 'fast-check';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createLogger } from '../../../../../foundation/observability/logger.ts';
import {
  createHashEmbeddings,
  toUnit,
} from '../../../../../plugins/agent-engine/services/embeddings/hash-embeddings.ts';
import { openEmbeddings } from '../../../../../plugins/agent-engine/services/open-model-service.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';
import { json, startFakeProvider } from '../../../../support/fake-provider.ts';

test('a vector of length 1 is like the one it was made of', (t) => {
  const usual = fc.array(fc.double({ min: -1000, max: 1000, noNaN: true }), { minLength: 1, maxLength: 32 });
  fc.assert(
    fc.property(usual, (values) => {
      const unit = toUnit(values);
      const length = Math.hypot(...unit);
      return values.every((value) => Math.abs(value) < 1e-6) || Math.abs(length - 1) < 1e-5;
    }),
  );
  t.deepEqual([...toUnit([0, 0])], [0, 0]);
});

const { signal } = new AbortController();

function opened(settings: Partial<Parameters<typeof openEmbeddings>[0]['settings']>) {
  const { logger: log } = createLogger({ level: 'silent' });
  const common = { clock: systemClock, ids: createIds(systemClock), beforeCall: () => {} };
  return openEmbeddings({ ...common, log, embedders: () => [], settings: { max_retries: 0, ...settings } });
}

test('without a model the built-in embeddings answer, also where there is a server', (t) => {
  t.is(opened({}).embeddings.id, 'hash-v1:512');
  t.is(opened({ api_url: 'http://127.0.0.1:1/v1', embedding_model: '' }).embeddings.id, 'hash-v1:512');
});

test('a model without a server is refused, and the variables are named', (t) => {
  t.throws(() => opened({ embedding_model: 'm' }), {
    message: /EMBEDDING_MODEL.*EMBEDDING_API_URL.*LLM_API_URL/,
  });
});

test('the key of the model server goes to that server alone', async (t) => {
  await using server = await startFakeProvider(json(200, { data: [{ embedding: [1] }] }));
  const llm = { api_url: server.url, api_key: 'llm-key', embedding_model: 'm' };
  const own = { api_url: 'http://127.0.0.1:1/v1', api_key: 'llm-key', embedding_model: 'm' };
  for (const [settings, expected] of [
    [llm, 'Bearer llm-key'],
    [{ ...llm, embedding_api_url: server.url }, 'Bearer llm-key'],
    [{ ...llm, embedding_api_key: 'other' }, 'Bearer other'],
    [{ ...own, embedding_api_url: server.url }, undefined],
    [{ ...own, embedding_api_url: server.url, embedding_api_key: 'other' }, 'Bearer other'],
  ] as const) {
    const { embeddings, close } = opened(settings);
    await embeddings.embed(['x'], signal);
    t.is(server.requests.at(-1)?.headers.authorization, expected);
    await close();
  }
});

const { id, embed } = createHashEmbeddings();

async function likeness(one: string, other: string): Promise<number> {
  const [first, second] = await embed([one, other], signal);
  return first!.reduce((sum, value, index) => sum + value * second![index]!, 0);
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

test('every text has a vector of length 1 and of 512 dimensions, whatever is in it', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: anyCodePoint, maxLength: 200 }), async (text) => {
      const [vector] = await embed([text], signal);
      return Math.abs(Math.hypot(...vector!) - 1) < 1e-5 && vector!.length === 512;
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
