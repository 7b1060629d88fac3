import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { DeadlineError } from '../../../../../foundation/base/deadline.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import {
  createOpenAIEmbeddings,
  type OpenAIEmbeddingsOptions,
} from '../../../../../plugins/agent-engine/services/embeddings/openai-embeddings.ts';
import { createCircuits } from '../../../../../plugins/agent-engine/services/models/circuit.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import {
  failure,
  json,
  type ProviderScript,
  silence,
  startFakeProvider,
} from '../../../../support/fake-provider.ts';
import { until } from '../../../../support/until.ts';
import { fakeMetrics } from '../../fake-metrics.ts';
import { API_KEY, failureOf } from '../models/calls.ts';

const { signal } = new AbortController();

function embeddingsOf(apiUrl: string, options: Partial<OpenAIEmbeddingsOptions> = {}) {
  return createOpenAIEmbeddings({
    apiUrl,
    apiKey: API_KEY,
    model: 'embed-1',
    clock: systemClock,
    ids: createIds(systemClock),
    ...options,
    retry: { baseMs: 1, ...options.retry },
  });
}

/** Gives each text the vector [its length, 1], the last text's first. */
const reversed: ProviderScript = (reply) => {
  const { input } = reply.request.body as { input: string[] };
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 1] }));
  return json(200, { object: 'list', data: data.reverse() })(reply);
};

test('texts are sent in batches, and their vectors come in order and with length 1', async (t) => {
  await using provider = await startFakeProvider(reversed);
  await using embeddings = embeddingsOf(`${provider.url}/`);
  t.is(embeddings.id, 'embed-1:?');
  const texts = Array.from({ length: 300 }, (_, index) => 'x'.repeat(index + 1));
  const vectors = await embeddings.embed(texts, signal);
  t.is(embeddings.id, 'embed-1:2');
  t.is(vectors.length, 300);
  for (const [index, vector] of vectors.entries()) {
    t.true(Math.abs(vector[0]! / vector[1]! - (index + 1)) < 0.001 * (index + 1));
    t.true(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
  }
  t.deepEqual(
    provider.requests.map(({ path, body }) => [path, body.model, body.input.length]),
    [128, 128, 44].map((count) => ['/v1/embeddings', 'embed-1', count]),
  );
  t.is(provider.requests[0]?.headers.authorization, `Bearer ${API_KEY}`);
  t.false('dimensions' in provider.requests[0]!.body);
  t.deepEqual(await embeddings.embed([], signal), []);
});

test('base64 is understood, the size that is asked for is the size, and empty and long texts are made fit', async (t) => {
  const embedding = Buffer.from(Float32Array.of(3, 4).buffer).toString('base64');
  await using provider = await startFakeProvider((reply) =>
    json(200, { data: (reply.request.body.input as string[]).map(() => ({ embedding })) })(reply),
  );
  await using embeddings = embeddingsOf(provider.url, { dimensions: 2 });
  t.is(embeddings.id, 'embed-1:2');
  const [first] = await embeddings.embed(['', 'y'.repeat(20_000), '\ud800'], signal);
  t.deepEqual(
    [...first!].map((value) => value.toFixed(3)),
    ['0.600', '0.800'],
  );
  const { input, dimensions } = provider.requests[0]!.body;
  t.is(dimensions, 2);
  t.deepEqual(input, [' ', 'y'.repeat(8000), '\ufffd']);
});

const BAD_ANSWERS: [string, unknown][] = [
  ['no list', { hello: 1 }],
  ['too few vectors', { data: [] }],
  [
    'the same number twice',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
    },
  ],
  [
    'a number that no text has',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 2, embedding: [1] },
      ],
    },
  ],
  ['vectors of different sizes', { data: [{ embedding: [1] }, { embedding: [1, 2] }] }],
  ['a vector of text', { data: [{ embedding: ['a'] }, { embedding: ['b'] }] }],
  ['an empty vector', { data: [{ embedding: [] }, { embedding: [] }] }],
  ['half a float', { data: [{ embedding: 'AAAA' }, { embedding: 'AAAA' }] }],
  ['another size than was asked for', { data: [{ embedding: [1, 2, 3] }, { embedding: [1, 2, 3] }] }],
];
for (const [name, body] of BAD_ANSWERS) {
  test(`an answer with ${name} is a failure`, async (t) => {
    await using provider = await startFakeProvider(json(200, body));
    await using embeddings = embeddingsOf(provider.url, { dimensions: 1 });
    t.is((await failureOf(t, embeddings.embed(['a', 'b'], signal))).code, 'model.upstream');
  });
}

test('a failure that may pass is tried again; others, hanging up and the deadline end the call', async (t) => {
  await using provider = await startFakeProvider(failure(503), reversed, failure(400), silence(), silence());
  await using embeddings = embeddingsOf(provider.url);
  t.is((await embeddings.embed(['a'], signal)).length, 1);
  t.is((await failureOf(t, embeddings.embed(['a'], signal))).code, 'model.rejected');
  const caller = new AbortController();
  const left = failureOf(t, embeddings.embed(['a'], caller.signal));
  await until(() => provider.requests.length === 4);
  caller.abort();
  t.is((await left).code, 'model.aborted');
  await using short = embeddingsOf(provider.url, { timeouts: { totalMs: 50 } });
  t.is((await failureOf(t, short.embed(['a'], signal))).code, 'model.timeout');
});

test('the key is taken out of what a server says, also where blanks surround it', async (t) => {
  const key = 'own.key.12345';
  const says = { message: `no embeddings for ${key}` };
  await using provider = await startFakeProvider(failure(400, {}, says));
  await using embeddings = embeddingsOf(provider.url, { apiKey: ` ${key}\n` });
  const { detail } = await failureOf(t, embeddings.embed(['a'], signal));
  t.is(provider.requests[0]?.headers.authorization, `Bearer ${key}`);
  t.true(detail.includes('no embeddings for [redacted]'), detail);
});

const newCircuit = () =>
  createCircuits({
    log: { warn() {}, info() {} } as never,
    metrics: modelMetrics(fakeMetrics()),
    clock: systemClock,
    settings: { failures: 2, openMs: 10_000 },
  }).of({ endpoint: 'x', model: 'm' });

test('a server that keeps failing is left alone', async (t) => {
  await using provider = await startFakeProvider(failure(503));
  await using embeddings = embeddingsOf(provider.url, { circuit: newCircuit(), retry: { retries: 0 } });
  for (const code of ['model.upstream', 'model.upstream', 'model.circuit-open']) {
    t.is((await failureOf(t, embeddings.embed(['a'], signal))).code, code);
  }
  t.is(provider.requests.length, 2);
});

test('a server that does not answer in its callers’ time is left alone, one that callers leave is not', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using embeddings = embeddingsOf(provider.url, { circuit: newCircuit() });
  const givenUp = async (reason: Error) => {
    const caller = new AbortController();
    const asked = failureOf(t, embeddings.embed(['a'], caller.signal));
    const { length } = provider.requests;
    await until(() => provider.requests.length > length);
    caller.abort(reason);
    await asked;
  };
  for (let time = 0; time < 3; time += 1) await givenUp(new Error('left'));
  for (let time = 0; time < 2; time += 1) await givenUp(new DeadlineError('late'));
  t.is((await failureOf(t, embeddings.embed(['a'], signal))).code, 'model.circuit-open');
});
