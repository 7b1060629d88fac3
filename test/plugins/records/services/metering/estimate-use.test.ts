import test from 'ava';
import type { ToolDefinition } from '../../../../../plugins/agent-engine/contract.ts';
import { estimateUse } from '../../../../../plugins/records/services/metering/estimate-use.ts';
import { ask } from '../../../agent-engine/services/models/calls.ts';

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
