import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createLogger } from '../../../../../foundation/observability/logger.ts';
import type { ModelClient, ModelProvider } from '../../../../../plugins/agent-engine/contract.ts';
import { createProvidedClient } from '../../../../../plugins/agent-engine/services/models/provided-client.ts';
import { until } from '../../../../support/until.ts';

test('a provider whose connecting hangs is connected again', async (t) => {
  const message = { role: 'assistant', content: 'Hello' } as const;
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const answering = { complete: async () => ({ choices }) } as unknown as ModelClient;
  let times = 0;
  const provider: ModelProvider = {
    name: 'plugin/acme/llm',
    connect() {
      times += 1;
      return times === 1 ? new Promise(() => {}) : answering;
    },
  };
  const client = createProvidedClient({
    spec: { provider: provider.name, model: 'm' },
    apiKey: undefined,
    providers: () => [provider],
    timeouts: { totalMs: 20_000, idleMs: 20 },
    beforeCall: () => {},
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLogger({ level: 'silent' }).logger,
  });
  const { signal } = new AbortController();
  const ask = () => client.complete({ model: 'm', messages: [] }, { signal, requestId: 'r' });
  await t.throwsAsync(ask, { code: 'model.timeout' });
  await until(async () => (await ask().catch(() => undefined))?.choices[0]?.message.content === 'Hello');
  t.is(times, 2);
});
