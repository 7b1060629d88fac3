import test from 'ava';
import type { MeasuredCall } from '../../../../../plugins/records/contract.ts';
import { measure, total } from '../../../../../plugins/records/services/metering/measure.ts';
import { modelUse } from './usage-tables.ts';

const CALL: MeasuredCall = {
  alias: 'fast',
  answeredBy: { provider: 'openai', model: 'gpt-x' },
  request: { messages: [{ role: 'user', content: 'four letters a token' }] },
  answer: { role: 'assistant', content: 'yes, about that' },
};

test('what the provider counted is measured and told as it is', (t) => {
  const usage = {
    ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  const measured = measure({ ...CALL, usage });
  t.is(measured.usage, usage);
  t.deepEqual(
    measured.use,
    modelUse({ inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 10 }),
  );
});

test('what the provider did not count is estimated, and marked', (t) => {
  const empty = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  for (const usage of [undefined, empty]) {
    const { use, usage: told } = measure({ ...CALL, usage });
    t.true(use.isEstimated && use.inputTokens > 0 && use.outputTokens > 0);
    t.deepEqual(told, {
      prompt_tokens: use.inputTokens,
      completion_tokens: use.outputTokens,
      total_tokens: use.inputTokens + use.outputTokens,
      estimated: true,
    });
  }
});

test('tools are a part of what was asked', (t) => {
  const tools = [{ type: 'function', function: { name: 'look', description: 'Looks around' } }] as const;
  const { use } = measure({ ...CALL, request: { ...CALL.request, tools } });
  t.true(use.inputTokens > measure(CALL).use.inputTokens);
});

test('several calls are one usage, an estimate where one of them is', (t) => {
  t.deepEqual(total([]), { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  t.deepEqual(total([modelUse(), modelUse({ cacheReadTokens: 7 })]), {
    prompt_tokens: 2000,
    completion_tokens: 200,
    total_tokens: 2200,
    prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 0 },
  });
  t.like(total([modelUse(), modelUse({ isEstimated: true })]), { total_tokens: 2200, estimated: true });
});
