import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import {
  type AgentEvent,
  type AgentResult,
  type AgentRunRequest,
  type Agents,
  type ChatMessage,
  GuardErrors,
  ModelErrors,
  type ModelUse,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createAgentTurns } from '../../../../../plugins/agent-engine/services/turns/agent-turns.ts';
import { createConversations } from '../../../../../plugins/agent-engine/services/turns/conversations.ts';
import {
  type AgentClientRequest,
  createAgentChat,
} from '../../../../../plugins/platform/services/chat/agent-chat.ts';
import { chatCall, collect, conversationParts, fakeTurns, INFO, testGuard } from './chat-fakes.ts';

const REQUEST: AgentClientRequest = { messages: [{ role: 'user', content: 'Hi SECRET' }] };
const USE: ModelUse = {
  model: 'default',
  provider: 'test',
  providerModel: 'x',
  isEstimated: false,
  inputTokens: 3,
  outputTokens: 4,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};
const RESULT: AgentResult = {
  finish: 'stop',
  text: 'It is 42.',
  messages: [{ role: 'assistant', content: 'It is 42.' }],
  uses: [USE, USE],
  model: 'default',
};
const CALL: AgentEvent = { type: 'tool_call', id: 'c', name: 'add', arguments: '{}', agentPath: [] };
const END: AgentEvent = { type: 'end', result: RESULT };

/** An agent whose run yields these events, or fails with an error among them. */
function agentOver(events: readonly (AgentEvent | Error)[], history?: readonly ChatMessage[]) {
  const runs: AgentRunRequest[] = [];
  const seen = { runs, isEnded: false };
  const agents: Agents = {
    list: () => Promise.reject(new Error('nothing lists agents here')),
    check: () => Promise.reject(new Error('nothing looks at definitions here')),
    find: async (_tenantId, name) =>
      name === 'helper'
        ? {
            name,
            description: '',
            type: 'chat_model_agent',
            model: 'other',
            source: 'file',
            subAgents: [],
          }
        : undefined,
    async *run(request) {
      runs.push(request);
      try {
        for (const event of events) {
          if (event instanceof Error) throw event;
          yield event;
        }
      } finally {
        seen.isEnded = true;
      }
    },
    checkDecisions: () => {},
    resume: () => {
      throw new Error('not asked for');
    },
  };
  const { turns, state } = fakeTurns(history);
  const { parts } = conversationParts(turns, 'Soul.', 'Soul.');
  const agentTurns = createAgentTurns({
    ...parts,
    agents,
    turns,
    models: { resolve: (id) => ({ info: { ...INFO, id } }) as never },
    conversations: createConversations(parts),
    checkpoints: undefined as never,
    sessions: undefined as never,
  });
  const chat = createAgentChat({
    turns: agentTurns,
    guard: testGuard,
    clock: systemClock,
    ids: createIds(systemClock),
  });
  return { chat, seen, state };
}

test('a turn is kept with all that the agent did and consumed', async (t) => {
  const { chat, state } = agentOver([{ type: 'text', delta: 'It is 42.' }, END]);
  const { sessionId, answer } = await chat.complete(REQUEST, chatCall());
  t.is(sessionId, 'new-session');
  t.deepEqual(answer.choices, [
    { index: 0, message: { role: 'assistant', content: 'It is 42.' }, finish_reason: 'stop' },
  ]);
  t.deepEqual(answer.usage, { prompt_tokens: 6, completion_tokens: 8, total_tokens: 14 });
  t.false('agentic_blocks' in answer);
  t.deepEqual(state.committed[0]!.messages, [
    { role: 'user', content: 'Hi [R]' },
    { role: 'assistant', content: 'It is 42.' },
  ]);
  t.is(state.committed[0]!.source, 'agent');
  t.is(state.open, 0);
});

test('a plain answer has the thoughts of the turn, as a stream has', async (t) => {
  const thought = (delta: string): AgentEvent => ({ type: 'reasoning', delta });
  const { chat } = agentOver([
    thought('Let me '),
    thought('see.'),
    { type: 'text', delta: 'It is 42.' },
    END,
  ]);
  const { answer } = await chat.complete(REQUEST, chatCall());
  t.deepEqual(answer.choices[0]!.message, {
    role: 'assistant',
    content: 'It is 42.',
    reasoning_content: 'Let me see.',
  });
});

test('the agent gets the preamble, the history, the parameters and the tools of the client', async (t) => {
  const history = [{ role: 'user', content: 'before' }];
  const { chat, seen } = agentOver([END], history);
  const tools = [{ type: 'function', function: { name: 'mine' } }] as const;
  const request = {
    ...REQUEST,
    tools,
    tool_choice: 'auto',
    temperature: 0,
    store: true,
    stream: false,
  } as const;
  await chat.complete(
    { ...request, agent: 'helper', include_agentic_blocks: true },
    chatCall({ sessionId: 's' }),
  );
  const run = seen.runs[0]!;
  t.like(run, { agent: 'helper', model: undefined, preamble: 'Soul.', pauses: 'refuse', toolChoice: 'auto' });
  t.deepEqual(run.clientTools, tools);
  t.deepEqual(run.parameters, { temperature: 0 });
  t.deepEqual(
    run.messages.map(({ content }) => content),
    ['before', 'Hi SECRET'],
  );
  t.is(run.context.sessionId, 's');
});

test('a named agent answers under the alias of its model', async (t) => {
  const { chat } = agentOver([END]);
  t.is((await chat.complete({ ...REQUEST, agent: 'helper' }, chatCall())).answer.model, 'other');
  t.is((await chat.complete({ ...REQUEST, model: 'mine' }, chatCall())).answer.model, 'mine');
  t.is((await chat.complete(REQUEST, chatCall())).answer.model, 'default');
});

test('with include_agentic_blocks the steps are told, redacted', async (t) => {
  const result: AgentEvent = {
    type: 'tool_result',
    id: 'c',
    name: 'add',
    content: '42',
    isError: false,
    agentPath: [],
  };
  const { chat } = agentOver([CALL, result, { type: 'text', delta: 'It is 42.' }, END]);
  const { answer } = await chat.complete({ ...REQUEST, include_agentic_blocks: true }, chatCall());
  t.deepEqual(answer.agentic_blocks, [
    { type: 'user_input_text', data: { text: 'Hi [R]' } },
    { type: 'function_tool_call', data: { call_id: 'c', name: 'add', arguments: '{}' } },
    { type: 'function_tool_result', data: { call_id: 'c', name: 'add', content: '42' } },
    { type: 'assistant_gen_text', data: { text: 'It is 42.' } },
  ]);
});

test('a stream tells text as chunks, blocks as events that are also empty chunks, then the end', async (t) => {
  const { chat, state } = agentOver([CALL, { type: 'text', delta: 'It is 42.' }, END]);
  const { sink, sent, named } = collect();
  const request = { ...REQUEST, include_agentic_blocks: true, stream_options: { include_usage: true } };
  await (await chat.stream(request, chatCall())).answer(sink);
  const chunks = sent.slice(0, -1).map((text) => JSON.parse(text));
  t.is(sent.at(-1), '[DONE]');
  t.deepEqual(chunks[0].choices[0].delta, { role: 'assistant', content: 'It is 42.' });
  t.is(chunks[1].choices[0].finish_reason, 'stop');
  t.is(chunks[2].usage.total_tokens, 14);
  t.deepEqual(
    named.map(({ event, data }) => [event, JSON.parse(data).type, JSON.parse(data).choices]),
    [
      ['agentic_block', 'user_input_text', []],
      ['agentic_block', 'function_tool_call', []],
      ['agentic_block', 'assistant_gen_text', []],
    ],
  );
  t.is(state.committed.length, 1);
});

test('calls of client tools are handed out', async (t) => {
  const call = { id: 'c', type: 'function', function: { name: 'mine', arguments: '{}' } } as const;
  const end: AgentEvent = {
    type: 'end',
    result: { ...RESULT, finish: 'tool_calls', text: '', toolCalls: [call] },
  };
  const { chat } = agentOver([end]);
  const { answer } = await chat.complete(REQUEST, chatCall());
  t.deepEqual(answer.choices[0], {
    index: 0,
    message: { role: 'assistant', content: null, tool_calls: [call] },
    finish_reason: 'tool_calls',
  });
  const { sink, sent } = collect();
  await (await chat.stream(REQUEST, chatCall())).answer(sink);
  t.deepEqual(JSON.parse(sent[0]!).choices[0].delta.tool_calls, [{ index: 0, ...call }]);
});

test('the cap of iterations is told as length', async (t) => {
  const { chat } = agentOver([{ type: 'end', result: { ...RESULT, finish: 'iteration_limit' } }]);
  t.is((await chat.complete(REQUEST, chatCall())).answer.choices[0]!.finish_reason, 'length');
});

for (const { title, thrown, code, kind } of [
  { title: 'a model that fails', thrown: ModelErrors.upstream(), code: 'agent.failed', kind: 'upstream' },
  {
    title: 'a model that is rate limited',
    thrown: ModelErrors.rateLimited(),
    code: 'agent.failed',
    kind: 'upstream',
  },
  {
    title: 'a model that refuses the request',
    thrown: ModelErrors.rejected(),
    code: 'agent.failed',
    kind: 'upstream',
  },
  { title: 'a defect', thrown: new TypeError('boom'), code: 'agent.failed', kind: 'upstream' },
  { title: 'an attack', thrown: GuardErrors.inputBlocked(), code: 'guard.input-blocked', kind: 'invalid' },
  { title: 'an unknown model', thrown: ModelErrors.notFound(), code: 'model_not_found', kind: 'not-found' },
] as const) {
  test(`${title} is ${code}, and keeps nothing`, async (t) => {
    const plain = agentOver([thrown]);
    await t.throwsAsync(plain.chat.complete(REQUEST, chatCall()), { code });
    const first = agentOver([thrown]);
    const error = await t.throwsAsync(first.chat.stream(REQUEST, chatCall()), { code });
    t.like(error, { kind });
    const later = agentOver([CALL, thrown]);
    const { answer: send } = await later.chat.stream(REQUEST, chatCall());
    const { sink, sent } = collect();
    await t.throwsAsync(async () => send(sink), { code });
    t.true(sent.every((text) => !text.includes('"stop"')));
    for (const { state, seen } of [plain, first, later]) {
      t.is(state.committed.length, 0);
      t.is(state.open, 0);
      t.true(seen.isEnded);
    }
    if (code === 'agent.failed') t.like(error, { extras: { retryable: false } });
  });
}

test('a failure tells nothing of what broke inside', async (t) => {
  const { chat } = agentOver([new TypeError('password is hunter2')]);
  const error = await t.throwsAsync(chat.complete(REQUEST, chatCall()));
  t.is(error?.message, 'The agent failed');
});

test('a run that ends without a result is a failure', async (t) => {
  await t.throwsAsync(agentOver([CALL]).chat.complete(REQUEST, chatCall()), { code: 'agent.failed' });
});
