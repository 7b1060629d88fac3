import test from 'ava';
import type { ToolCall } from '../../../../../plugins/agent-engine/contract.ts';
import {
  estimateMessageTokens,
  estimateTokens,
} from '../../../../../plugins/records/services/tokens/estimate-tokens.ts';

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
