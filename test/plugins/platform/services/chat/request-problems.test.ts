import test from 'ava';
import type { ChatRequest } from '../../../../../plugins/agent-engine/contract.ts';
import {
  clientToolProblems,
  requestProblems,
} from '../../../../../plugins/platform/services/chat/request-problems.ts';

const USER = { role: 'user', content: 'Hi' } as const;
const FUNCTION = { type: 'function', function: { name: 'f' } };

/** What clients send is not typed. */
const problemsOf = (request: object) =>
  requestProblems({ messages: [USER], ...request } as Partial<ChatRequest> & Pick<ChatRequest, 'messages'>);

const FINE: readonly object[] = [
  {},
  { tools: null, tool_choice: null, response_format: null },
  { tools: [FUNCTION], tool_choice: 'auto', response_format: { type: 'text' } },
  { tools: [FUNCTION], tool_choice: FUNCTION },
  { tools: [{ type: 'web_search', web_search: {} }], tool_choice: { type: 'allowed_tools' } },
  { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
];
for (const request of FINE) {
  test(`${JSON.stringify(request)} is fine`, (t) => t.deepEqual(problemsOf(request), []));
}

const WRONG: readonly [object, string, string][] = [
  [{ tools: [FUNCTION, { type: 'function' }] }, '/body/tools/1/function', 'is required for type function'],
  [{ tool_choice: { type: 'function' } }, '/body/tool_choice/function', 'is required for type function'],
  [
    { response_format: { type: 'json_schema' } },
    '/body/response_format/json_schema',
    'is required for type json_schema',
  ],
  [{ messages: [{ role: 'user' }] }, '/body/messages/0/content', 'is required for role user'],
];
for (const [request, pointer, message] of WRONG) {
  test(`${JSON.stringify(request)} is told with its place`, (t) => {
    t.deepEqual(problemsOf(request), [{ pointer, message }]);
  });
}

test('all problems are told together, and of very many the first', (t) => {
  const { length } = problemsOf({ tools: [{ type: 'function' }], tool_choice: { type: 'function' } });
  t.is(length, 2);
  t.is(problemsOf({ tools: Array.from({ length: 1000 }, () => ({ type: 'function' })) }).length, 20);
});

test('an agent takes functions alone', (t) => {
  const tools = [FUNCTION, { type: 'web_search' }] as unknown as ChatRequest['tools'];
  t.deepEqual(clientToolProblems(tools), [
    { pointer: '/body/tools/1/type', message: 'must be "function" for an agent' },
  ]);
  t.deepEqual(clientToolProblems(null), []);
});
