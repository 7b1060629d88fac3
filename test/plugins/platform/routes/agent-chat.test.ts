import test from 'ava';
import { shared } from '../../../support/shared.ts';
import { until } from '../../../support/until.ts';
import { startPlatform } from '../platform-gateway.ts';
import { AGENT, COMPLETIONS, eventsOf } from './chat-kit.ts';

const env = { OBJECT_STORE_URL: 'none' };
const platform = shared((file) => startPlatform(file, { env }));

const ASK = { messages: [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }] };

test('the demo model uses a tool: the answer, the receipt, the usage and the audit record', async (t) => {
  const gateway = await startPlatform(t, { env });
  const answer = await gateway.request(AGENT, {
    method: 'POST',
    body: { ...ASK, include_agentic_blocks: true },
  });
  t.is(answer.status, 200);
  t.regex(answer.body.choices[0].message.content, /391/);
  t.deepEqual(
    answer.body.agentic_blocks.map(({ type }: { type: string }) => type),
    ['user_input_text', 'function_tool_call', 'function_tool_result', 'assistant_gen_text'],
  );
  const session = answer.headers.get('x-svc-session-id')!;
  const receipts = await gateway.request(`/v1/execution-receipts?session_id=${session}`);
  t.is(receipts.body.total, 1);
  t.like(receipts.body.execution_receipts[0], {
    tool_name: 'calculator',
    status: 'success',
    session_id: session,
  });
  t.regex(receipts.body.execution_receipts[0].output, /391/);
  const usage = await gateway.request(`/v1/usage/details?session_id=${session}`);
  t.is(usage.body.records.length, 2);
  const find = async () => {
    const { body } = await gateway.request(`/v1/audit-logs?action=${encodeURIComponent(`POST ${AGENT}`)}`);
    return body.audit_logs;
  };
  await until(async () => (await find()).length === 1);
  t.is((await find())[0].session_id, session);
});

test('a stream shows the steps as they happen', async (t) => {
  const gateway = await platform();
  const body = {
    ...ASK,
    stream: true,
    include_agentic_blocks: true,
    stream_options: { include_usage: true },
  };
  const events = eventsOf(await gateway.request(AGENT, { method: 'POST', body }));
  const blocks = events.filter(({ event }) => event === 'agentic_block').map(({ data }) => data.type);
  t.deepEqual(blocks, [
    'user_input_text',
    'function_tool_call',
    'function_tool_result',
    'assistant_gen_text',
  ]);
  t.true(events.every(({ data }) => data === '[DONE]' || Array.isArray(data.choices)));
  t.regex(events.map(({ data }) => data.choices?.[0]?.delta?.content ?? '').join(''), /391/);
  t.true(events.at(-2)!.data.usage.total_tokens > 0);
});

test('a turn that calls three tools has three receipts and one audit record', async (t) => {
  const gateway = await platform();
  const content = 'Use the calculator with 1 + 1, then use current_time, then memory_search for "tea".';
  const answer = await gateway.request(AGENT, {
    method: 'POST',
    body: { messages: [{ role: 'user', content }] },
  });
  const session = answer.headers.get('x-svc-session-id')!;
  const receipts = await gateway.request(`/v1/execution-receipts?session_id=${session}`);
  t.is(receipts.body.total, 3);
  const find = async () => {
    const { body } = await gateway.request('/v1/audit-logs?limit=500');
    return body.audit_logs.filter(({ session_id }: { session_id: string | null }) => session_id === session);
  };
  // Records are written in batches: the one of a later request tells that this one's are there.
  await gateway.request('/v1/me', { headers: { 'x-request-id': 'later' } });
  await until(async () => {
    const { body } = await gateway.request('/v1/audit-logs?limit=500');
    return body.audit_logs.some(({ request_id }: { request_id: string }) => request_id === 'later');
  });
  t.deepEqual(
    (await find()).map(({ action }: { action: string }) => action),
    [`POST ${AGENT}`],
  );
});

test('an unknown agent is 404', async (t) => {
  const gateway = await platform();
  const answer = await gateway.request(AGENT, { method: 'POST', body: { ...ASK, agent: 'nobody' } });
  t.is(answer.status, 404);
  t.is(answer.body.error.code, 'agent.not-found');
});

test('calls of client tools are handed to the client, and the turn goes on with their results', async (t) => {
  const gateway = await platform();
  const tools = [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ];
  const messages = [{ role: 'user', content: 'Call get_weather for Oslo.' }];
  const asked = await gateway.request(AGENT, { method: 'POST', body: { messages, tools } });
  t.is(asked.body.choices[0].finish_reason, 'tool_calls');
  const [call] = asked.body.choices[0].message.tool_calls;
  t.is(call.function.name, 'get_weather');
  const headers = { 'x-svc-session-id': asked.headers.get('x-svc-session-id')! };
  const results = [{ role: 'tool', tool_call_id: call.id, content: 'It rains.' }];
  const answer = await gateway.request(AGENT, {
    method: 'POST',
    body: { messages: results, tools },
    headers,
  });
  t.regex(answer.body.choices[0].message.content, /It rains/);
});

const UNTYPED: readonly [string, object, RegExp][] = [
  ['a function without its name', { tools: [{ type: 'function' }] }, /tools\[0\]\.function is required/],
  ['a choice of no function', { tool_choice: { type: 'function' } }, /tool_choice\.function is required/],
  [
    'a form without its schema',
    { response_format: { type: 'json_schema' } },
    /response_format\.json_schema is required/,
  ],
  [
    'a call of no function',
    {
      messages: [
        { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    },
    /messages\[0\]\.tool_calls\[0\]\.function is required/,
  ],
];
for (const [title, body, message] of UNTYPED) {
  test(`${title} is refused on both chat routes`, async (t) => {
    const gateway = await platform();
    for (const path of [AGENT, COMPLETIONS]) {
      const answer = await gateway.request(path, {
        method: 'POST',
        body: { model: 'demo', ...ASK, ...body },
      });
      t.is(answer.status, 400, path);
      t.regex(answer.body.error.message, message);
    }
  });
}

test("tools that are the provider's own are refused for an agent, and left alone by the demo model", async (t) => {
  const gateway = await platform();
  const body = { model: 'demo', ...ASK, tools: [{ type: 'web_search' }] };
  const agent = await gateway.request(AGENT, { method: 'POST', body });
  t.is(agent.status, 400);
  t.is(agent.body.error.param, 'tools[0].type');
  t.is((await gateway.request(COMPLETIONS, { method: 'POST', body })).status, 200);
});
