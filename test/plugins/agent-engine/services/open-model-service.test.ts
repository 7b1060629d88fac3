import { ConfigurationError } from 'agent-gateway';
import test from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { withoutSpans } from '../../../../foundation/observability/tracing.ts';
import { createDemoModel } from '../../../../plugins/agent-engine/services/models/demo-model.ts';
import { modelMetrics } from '../../../../plugins/agent-engine/services/models/metrics.ts';
import { openEmbeddings, openModels } from '../../../../plugins/agent-engine/services/open-model-service.ts';
import { fakeMetrics } from '../fake-metrics.ts';

const clock = systemClock;
const ids = createIds(clock);
const metrics = modelMetrics(fakeMetrics());

const open = (settings: { api_url: string; api_key?: string }) =>
  openModels({
    settings: {
      api_key: undefined,
      model: undefined,
      include_usage: true,
      max_retries: 0,
      timeout: 1000,
      idle_timeout: 1000,
      ...settings,
    },
    demo: createDemoModel({ clock, ids }),
    clock,
    ids,
    metrics,
    tracing: withoutSpans,
    log: pino({ enabled: false }),
    beforeCall: () => {},
  });

for (const [variable, settings, message] of [
  ['LLM_API_URL', { api_url: 'https://user:pass@models.example/v1' }, /must not hold credentials/],
  ['LLM_API_URL', { api_url: 'https://models.example/v1/chat/completions/' }, /appends by itself/],
  ['LLM_API_KEY', { api_url: 'https://models.example/v1', api_key: 'a key' }, /cannot carry/],
] as const) {
  test(`what cannot work in ${variable} is told with its name, and never shown: ${message.source}`, async (t) => {
    const error = await t.throwsAsync(open(settings), { instanceOf: ConfigurationError });
    t.is(error.problems[0]?.name, variable);
    t.regex(error.message, message);
    t.notRegex(error.message, /user:pass|a key$/);
  });
}

test('an address and a key that can work are taken', async (t) => {
  const { models, close } = await open({ api_url: 'https://models.example/v1', api_key: 'key' });
  t.true(models.list().some(({ id }) => id === 'default'));
  await close();
});

for (const [variable, settings] of [
  ['EMBEDDING_API_URL', { embedding_api_url: 'https://models.example/v1/embeddings' }],
  ['LLM_API_URL', { api_url: 'https://models.example/v1/embeddings' }],
] as const) {
  test(`an address that ends in the route of embeddings is told as that of ${variable}`, (t) => {
    const error = t.throws(
      () =>
        openEmbeddings({
          settings: { max_retries: 0, embedding_model: 'm', ...settings },
          embedders: () => [],
          clock,
          ids,
          log: pino({ enabled: false }),
          beforeCall: () => {},
        }),
      { instanceOf: ConfigurationError, message: /ends in \/embeddings/ },
    );
    t.is(error.problems[0]?.name, variable);
  });
}
