import test from 'ava';
import type { ChatMessage, ToolCall } from '../../../../../plugins/agent-engine/contract.ts';
import { conversationProblems } from '../../../../../plugins/platform/services/chat/request-problems.ts';

const FINE: readonly ChatMessage[] = [
  { role: 'system', content: '' },
  { role: 'developer', content: 'Be short.' },
  { role: 'user', content: 'Hi' },
  {
    role: 'user',
    content: [
      { type: 'text', text: '' },
      { type: 'image_url', image_url: { url: 'data:,' } },
    ],
  },
  { role: 'assistant', content: null, tool_calls: [] },
  { role: 'assistant' },
  { role: 'assistant', tool_calls: null as never },
  { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: {} } as unknown as ToolCall] },
  { role: 'tool', tool_call_id: 'call_1', content: 'It rains.' },
  { role: 'function', name: 'look', content: null },
];

test('messages of every role that OpenAI takes are fine', (t) => {
  t.deepEqual(conversationProblems(FINE), []);
});

const WRONG: readonly [string, ChatMessage, string, string][] = [
  ['a user without content', { role: 'user' }, '/content', 'is required for role user'],
  ['a system message of null', { role: 'system', content: null }, '/content', 'is required for role system'],
  [
    'a result that belongs to no call',
    { role: 'tool', content: 'It rains.' },
    '/tool_call_id',
    'is required for role tool',
  ],
  [
    'a text part without text',
    { role: 'user', content: [{ type: 'image_url' }, { type: 'text' }] },
    '/content/1/text',
    'is required for type text',
  ],
  [
    'a call of no function',
    { role: 'assistant', tool_calls: [{ id: 'c' } as ToolCall] },
    '/tool_calls/0/function',
    'is required',
  ],
];

for (const [title, message, place, problem] of WRONG) {
  test(`${title} is told with its place`, (t) => {
    const messages: readonly ChatMessage[] = [{ role: 'user', content: 'Hi' }, message];
    t.deepEqual(conversationProblems(messages), [{ pointer: `/body/messages/1${place}`, message: problem }]);
  });
}

test('of very many problems the first are told', (t) => {
  const messages = Array.from({ length: 4000 }, (): ChatMessage => ({ role: 'user' }));
  const problems = conversationProblems(messages);
  t.is(problems.length, 20);
  t.is(problems.at(-1)?.pointer, '/body/messages/19/content');
});
