import test from 'ava';
import fc from 'fast-check';
import { toModelUse } from '../../../../../plugins/records/services/metering/model-use.ts';

const INFO = { id: 'fast', provider: 'anthropic', model: 'claude', owned_by: 'anthropic', created: 1 };
const ESTIMATE = () => ({ inputTokens: 11, outputTokens: 3 });
const NAMES = { model: 'default', provider: 'anthropic', providerModel: 'claude' };

test('what the provider counted is what is metered, cached parts included', (t) => {
  const usage = {
    ...{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  };
  const estimate = () => t.fail() as never;
  t.deepEqual(toModelUse('default', INFO, usage, estimate), {
    ...{ ...NAMES, inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 30 },
    isEstimated: false,
  });
});

for (const usage of [
  undefined,
  null,
  { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  {} as never,
]) {
  test(`without a count the estimate is metered, and says so: ${JSON.stringify(usage)}`, (t) => {
    t.deepEqual(toModelUse('default', INFO, usage, ESTIMATE), {
      ...{ ...NAMES, inputTokens: 11, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 },
      isEstimated: true,
    });
  });
}

test('whatever a provider counts, a record holds whole numbers, and no more cached input than input', (t) => {
  const count = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.constant(undefined),
    fc.string(),
  ) as fc.Arbitrary<number>;
  const details = fc.record({ cached_tokens: count, cache_write_tokens: count });
  const usage = fc.record({ prompt_tokens: count, completion_tokens: count, total_tokens: count });
  fc.assert(
    fc.property(usage, details, (given, prompt_tokens_details) => {
      const use = toModelUse('a', INFO, { ...given, prompt_tokens_details }, ESTIMATE);
      const counts = [use.inputTokens, use.outputTokens, use.cacheReadTokens, use.cacheWriteTokens];
      return (
        counts.every((one) => Number.isInteger(one) && one >= 0 && one < 2 ** 31) &&
        use.cacheReadTokens + use.cacheWriteTokens <= use.inputTokens
      );
    }),
  );
  t.pass();
});
