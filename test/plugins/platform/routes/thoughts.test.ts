import test from 'ava';
import type { ChatMessage } from '../../../../plugins/agent-engine/contract.ts';
import { failure, json, type ProviderScript, plain, rawStream, sse } from '../../../support/fake-provider.ts';
import { startChat } from './chat-kit.ts';

const CALL = { id: 'c', type: 'function', function: { name: 'theirs', arguments: '{}' } };
const THOUGHTS = 'They want theirs.';
const said = { content: '', reasoning_content: THOUGHTS };

/** As DeepSeek and Kimi: thinks and calls a tool, and then refuses its answer without what it had thought. */
const thinking: ProviderScript = (reply) => {
  const { messages, stream } = reply.request.body;
  const answers: ChatMessage[] = messages.filter(({ role }: ChatMessage) => role === 'assistant');
  if (answers.some(({ reasoning_content }) => reasoning_content !== THOUGHTS))
    return failure(400, {}, { message: 'reasoning_content is missing in message 1' })(reply);
  if (answers.length > 0) return plain('Done')(reply);
  const finish_reason = 'tool_calls';
  if (stream !== true) {
    const message = { role: 'assistant', ...said, tool_calls: [CALL] };
    return json(200, { choices: [{ index: 0, message, finish_reason }] })(reply);
  }
  const delta = { ...said, tool_calls: [{ index: 0, ...CALL }] };
  return rawStream(
    sse({ choices: [{ index: 0, delta, finish_reason: null }] }),
    sse({ choices: [{ index: 0, delta: {}, finish_reason }] }),
    'data: [DONE]\n\n',
  )(reply);
};

for (const stream of [false, true])
  test(`a session brings a server the thoughts that it wants back with the results of its calls${stream ? ', streamed' : ''}`, async (t) => {
    const { chat } = await startChat(t, [thinking]);
    const tools = [{ type: 'function', function: { name: 'theirs', parameters: { type: 'object' } } }];
    const asked = await chat({ stream, tools });
    t.is(asked.status, 200);
    const session_id = asked.headers.get('x-svc-session-id');
    const result = { role: 'tool', tool_call_id: 'c', content: 'done' };
    const answer = await chat(
      { tools, messages: [result] },
      { headers: { 'x-svc-session-id': session_id! } },
    );
    t.is(answer.status, 200, JSON.stringify(answer.body));
    t.is(answer.body.choices[0].message.content, 'Done');
  });
