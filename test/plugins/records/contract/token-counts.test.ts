import test from 'ava';
import fc from 'fast-check';
import {
  estimateMessageTokens,
  estimateTokens,
  estimateUse,
  type ToolCall,
  type ToolDefinition,
  toModelUse,
} from '../../../../plugins/records/contract.ts';
import { ask } from '../../agent-engine/services/models/calls.ts';

for (const { text, tokens } of [
  { text: '', tokens: 0 },
  { text: 'a', tokens: 1 },
  { text: 'four', tokens: 1 },
  { text: 'The quick brown fox', tokens: 5 },
  { text: 'Привет', tokens: 3 },
  { text: '漢字', tokens: 2 },
  { text: '🙂', tokens: 1 },
]) {
  test(`"${text}" has about ${tokens} tokens`, (t) => t.is(estimateTokens(text), tokens));
}

test('a message counts its text, its parts and its tool calls', (t) => {
  t.is(estimateMessageTokens({ role: 'user', content: 'four' }), 5);
  t.is(estimateMessageTokens({ role: 'user', content: [{ type: 'text', text: 'four' }] }), 5);
  t.is(estimateMessageTokens({ role: 'user', content: [{ type: 'image_url' }] }), 769);
  const call = { id: '1', type: 'function', function: { name: 'look', arguments: '{}' } } as const;
  t.is(estimateMessageTokens({ role: 'assistant', content: null, tool_calls: [call] }), 4 + 4 + 1 + 1);
});

test('a message counts calls of no function, and none where a client wrote null', (t) => {
  const custom = { id: '1', type: 'custom', custom: { input: 'a'.repeat(400) } } as unknown as ToolCall;
  t.true(estimateMessageTokens({ role: 'assistant', content: null, tool_calls: [custom] }) > 100);
  t.is(estimateMessageTokens({ role: 'assistant', content: 'four', tool_calls: null as never }), 5);
});

test('messages and tools are input, text and thoughts are output', (t) => {
  const answer = { role: 'assistant', content: 'Fine weather.' };
  const plain = estimateUse(ask('How is the weather?'), answer);
  t.true(plain.inputTokens > 4 && plain.inputTokens < 20);
  t.true(plain.outputTokens > 2 && plain.outputTokens < 20);
  const tool: ToolDefinition = {
    type: 'function',
    function: { name: 'weather', description: 'x'.repeat(400) },
  };
  const withTools = estimateUse(ask('How is the weather?', { tools: [tool] }), answer);
  t.true(withTools.inputTokens - plain.inputTokens > 100);
  const thoughtful = estimateUse(ask(), { ...answer, reasoning_content: 'x'.repeat(400) });
  t.is(thoughtful.outputTokens - plain.outputTokens, 100);
  t.is(estimateUse(ask(), undefined).outputTokens, 0);
});

const INFO = { id: 'fast', provider: 'anthropic', model: 'claude', owned_by: 'anthropic', created: 1 };
const ESTIMATE = () => ({ inputTokens: 11, outputTokens: 3 });
const NAMES = { model: 'default', provider: 'anthropic', providerModel: 'claude' };

test('what the provider counted is what is metered, cached parts included', (t) => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  };
  const estimate = () => t.fail() as never;
  t.deepEqual(toModelUse('default', INFO, usage, estimate), {
    ...NAMES,
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 60,
    cacheWriteTokens: 30,
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
      ...NAMES,
      inputTokens: 11,
      outputTokens: 3,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
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
