import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import {
  type EmbeddingSettings,
  openEmbeddings,
} from '../../../../../plugins/agent-engine/services/embeddings/open-embeddings.ts';
import { json, startFakeProvider } from '../../../../support/fake-provider.ts';

const { signal } = new AbortController();

function opened(settings: Omit<EmbeddingSettings, 'max_retries'>) {
  const common = { clock: systemClock, ids: createIds(systemClock), beforeCall: () => {} };
  return openEmbeddings({ ...common, settings: { max_retries: 0, ...settings } });
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
