import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { DeadlineError } from '../../../../../foundation/base/deadline.ts';
import type { GatewayError } from '../../../../../foundation/base/gateway-error.ts';
import { createLogger } from '../../../../../foundation/observability/logger.ts';
import type { Embedder, EmbedderClient } from '../../../../../plugins/agent-engine/contract.ts';
import { createProvidedEmbeddings } from '../../../../../plugins/agent-engine/services/embeddings/provided-embeddings.ts';
import type { Circuit } from '../../../../../plugins/agent-engine/services/models/circuit.ts';
import { until } from '../../../../support/until.ts';

const { signal } = new AbortController();
const { logger: log } = createLogger({ level: 'silent' });

function opened(client: Partial<EmbedderClient>, totalMs?: number, circuit?: Circuit) {
  const name = 'plugin/acme/embed';
  const embedders: Embedder[] = [
    {
      name,
      connect: () => ({
        id: 'v1',
        dimensions: 1,
        embed: async (texts) => texts.map(({ length }) => [length]),
        ...client,
      }),
    },
  ];
  const embeddings = createProvidedEmbeddings({
    name,
    embedders: () => embeddings.offers,
    settings: { model: undefined, baseUrl: undefined, apiKey: undefined, dimensions: undefined },
    circuit,
    beforeCall: () => {},
    clock: systemClock,
    log,
    ...(totalMs === undefined ? {} : { totalMs }),
  }) as ReturnType<typeof createProvidedEmbeddings> & { offers: readonly Embedder[] };
  embeddings.offers = embedders;
  return embeddings;
}

test('an embedder that hangs is given up at the deadline, or when the caller leaves', async (t) => {
  const hanging = { embed: () => new Promise<never>(() => {}) };
  await t.throwsAsync(opened(hanging, 20).embed(['x'], signal), { code: 'model.timeout' });
  const caller = new AbortController();
  const asked = opened(hanging).embed(['x'], caller.signal);
  caller.abort();
  await t.throwsAsync(asked, { code: 'model.aborted' });
});

test('the deadline of a caller counts as a failure of the embedder, a caller that leaves does not', async (t) => {
  const seen: unknown[] = [];
  const circuit: Circuit = {
    enter: () => ({ answered: () => {}, failed: (error) => seen.push((error as GatewayError).code) }),
  };
  const embeddings = opened({ embed: () => new Promise<never>(() => {}) }, undefined, circuit);
  for (const reason of [new DeadlineError('late'), new Error('left')])
    await t.throwsAsync(embeddings.embed(['x'], AbortSignal.abort(reason)), { code: 'model.aborted' });
  t.deepEqual(seen, ['model.timeout', 'model.aborted']);
});

test('an embedder whose connecting hangs is connected again', async (t) => {
  const embeddings = opened({}, 20);
  const [{ name, connect }] = embeddings.offers as [Embedder];
  let times = 0;
  const hanging = (): ReturnType<Embedder['connect']> => {
    times += 1;
    return times === 1 ? new Promise(() => {}) : connect({} as never);
  };
  embeddings.offers = [{ name, connect: hanging }];
  await t.throwsAsync(embeddings.embed(['x'], signal), { code: 'model.timeout' });
  await until(async () => (await embeddings.embed(['x'], signal).catch(() => [])).length === 1);
  t.is(times, 2);
});

test('texts come in batches of the size that the embedder states, shortened and never empty', async (t) => {
  const batches: (readonly string[])[] = [];
  const embeddings = opened({
    batch: 2,
    embed: async (texts) => {
      batches.push(texts);
      return texts.map(() => [7]);
    },
  });
  const vectors = await embeddings.embed(['a', '', 'x'.repeat(9000)], signal);
  t.deepEqual(vectors, [Float32Array.of(1), Float32Array.of(1), Float32Array.of(1)]);
  t.deepEqual(
    batches.map((texts) => texts.map(({ length }) => length)),
    [[1, 1], [8000]],
  );
});

test('an embedder that states no usable id, size or batch is never asked', async (t) => {
  for (const client of [{ id: '' }, { id: 'a b' }, { dimensions: 0 }, { dimensions: 9000 }, { batch: 0 }]) {
    const embeddings = opened(client);
    await t.throwsAsync(embeddings.embed(['x'], signal), { code: 'model.upstream' }, JSON.stringify(client));
    t.is(embeddings.id, 'plugin/acme/embed:?');
  }
});

test('vectors of an embedder that was exchanged meanwhile are thrown away', async (t) => {
  let finish = () => {};
  const embeddings = opened({
    embed: async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return [[1]];
    },
  });
  const early = embeddings.embed(['x'], signal);
  await new Promise((resolve) => setImmediate(resolve));
  const end = finish;
  embeddings.offers = [
    { name: 'plugin/acme/embed', connect: () => ({ id: 'v2', dimensions: 1, embed: async () => [[1]] }) },
  ];
  await embeddings.embed(['x'], signal);
  end();
  await t.throwsAsync(early, { code: 'model.upstream' });
  t.is(embeddings.id, 'plugin/acme/embed/v2:1');
});
