import test from 'ava';
import type { AgentResult, AgentTurnEvent } from '../../../../../plugins/agent-engine/contract.ts';
import { createBlockCollector } from '../../../../../plugins/platform/services/chat/agentic-blocks.ts';

const END: AgentTurnEvent = { type: 'end', result: {} as AgentResult, usage: {} as never };

function blocksOf(...events: AgentTurnEvent[]) {
  const collect = createBlockCollector();
  return events.map((event) => collect(event));
}

test('pieces of text become one block when something else comes', (t) => {
  const call = { type: 'tool_call', id: 'c', name: 'add', arguments: '{}', agentPath: [] } as const;
  const [first, second, third, fourth] = blocksOf(
    { type: 'text', delta: 'a' },
    { type: 'text', delta: 'b' },
    call,
    END,
  );
  t.deepEqual([first, second, fourth], [[], [], []]);
  t.deepEqual(third, [
    { type: 'assistant_gen_text', data: { text: 'ab' } },
    { type: 'function_tool_call', data: { call_id: 'c', name: 'add', arguments: '{}' } },
  ]);
});

test('reasoning and text are blocks of their own, the last one at the end', (t) => {
  const blocks = blocksOf({ type: 'reasoning', delta: 'hm' }, { type: 'text', delta: 'yes' }, END).flat();
  t.deepEqual(blocks, [
    { type: 'reasoning', data: { text: 'hm' } },
    { type: 'assistant_gen_text', data: { text: 'yes' } },
  ]);
});

test('a result names the call that it belongs to', (t) => {
  const event: AgentTurnEvent = {
    type: 'tool_result',
    id: 'c',
    name: 'add',
    content: '3',
    isError: false,
    agentPath: [],
  };
  t.deepEqual(blocksOf(event).flat(), [
    { type: 'function_tool_result', data: { call_id: 'c', name: 'add', content: '3' } },
  ]);
});
