import test from 'ava';
import type { ChatRequest } from '../../../../../../plugins/agent-engine/contract.ts';
import { unknownForms } from '../../../../../../plugins/agent-engine/services/models/ai-sdk/call-options.ts';

const FUNCTION = { type: 'function', function: { name: 'f', arguments: '{}' } };

/** What clients send is not typed. */
const placesOf = (request: object) =>
  unknownForms({ model: 'm', messages: [], ...request } as ChatRequest).map(({ pointer }) => pointer);

test('functions, their choice and their calls are known, and null is none', (t) => {
  const messages = [
    { role: 'assistant', tool_calls: [{ id: 'a', ...FUNCTION }] },
    { role: 'user', tool_calls: null },
  ];
  t.deepEqual(placesOf({ messages, tools: [FUNCTION], tool_choice: FUNCTION }), []);
  t.deepEqual(placesOf({ tools: null, tool_choice: null, response_format: null }), []);
  t.deepEqual(placesOf({ tool_choice: 'auto', response_format: { type: 'json_object' } }), []);
});

const UNKNOWN: readonly [object, string][] = [
  [{ tools: [FUNCTION, { type: 'web_search' }] }, '/tools/1/type'],
  [{ tools: [{ type: 'function' }] }, '/tools/0/type'],
  [{ tool_choice: { type: 'allowed_tools' } }, '/tool_choice/type'],
  [{ response_format: { type: 'grammar' } }, '/response_format/type'],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: {} }] }] },
    '/messages/0/tool_calls/0/type',
  ],
];
for (const [request, pointer] of UNKNOWN) {
  test(`${JSON.stringify(request)} is a form that is not known`, (t) =>
    t.deepEqual(placesOf(request), [pointer]));
}
