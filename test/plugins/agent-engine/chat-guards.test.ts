import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { defineErrors } from '../../../kernel/index.ts';
import type { ChatGuard } from '../../../plugins/agent-engine/contract.ts';
import { failure, plain, rawStream, sse, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { PROTOS, SERVICES } from '../runtime/grpc-kit.ts';
import { eventsOf, toolCalls } from '../runtime/runtime-gateway.ts';
import { clientOf } from '../workflow/plugin-kit.ts';
import { dataOf, outputGuard, startGuarded, textOfStream, words } from './chat-guards-kit.ts';

const COMPLETIONS = '/v1/chat/completions';
const AGENT = '/v1/agent/chat';
const MESSAGES = [{ role: 'user', content: 'I am anna@acme.test' }];
/** The word is in three pieces, and the answer ends with the beginning of another. */
const PIECES = ['A pine', 'app', 'le for you', 'rself, pineap'];
const SHOWN = 'A [fruit] for yourself, pineap';

const session = (answer: { readonly headers: Headers }) => answer.headers.get('x-svc-session-id') ?? '';

test('chat completions: the model gets what the guard made of the input, the client and the session what it made of the answer', async (t) => {
  const guard = words();
  const { post, stored, provider } = await startGuarded(t, [guard], [plain('A pineapple.'), stream(PIECES)]);
  const whole = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
  t.is(whole.body.choices[0].message.content, 'A [fruit].');
  t.is(whole.body.choices[0].finish_reason, 'stop');
  t.like(provider.requests[0]?.body.messages.at(-1), { role: 'user', content: 'I am [mail]' });
  t.deepEqual(await stored(session(whole)), ['user: I am [mail]', 'assistant: A [fruit].']);

  const streamed = await post(
    COMPLETIONS,
    { model: 'default', messages: MESSAGES, stream: true, stream_options: { include_usage: true } },
    { 'x-svc-session-id': session(whole) },
  );
  t.is(textOfStream(streamed.body), SHOWN);
  const events = dataOf(streamed.body);
  t.is(events.at(-1), '[DONE]');
  t.like(JSON.parse(events.at(-2)!), { choices: [], usage: { total_tokens: 12 } });
  t.is(JSON.parse(events.at(-3)!).choices[0].finish_reason, 'stop');
  t.deepEqual((await stored(session(whole))).slice(2), ['user: I am [mail]', `assistant: ${SHOWN}`]);
  t.is(provider.requests.length, 2);

  const [first, second] = guard.seen.chats;
  t.like(first, { agent: undefined, model: 'default', sessionId: session(whole) });
  t.is(second?.sessionId, session(whole));
  t.is(first?.userId, first?.identityId);
  t.deepEqual(guard.seen.inputs[0], [{ role: 'user', text: 'I am anna@acme.test', isNew: true }]);
});

test('what a client repeats of the conversation is guarded each time, and called old', async (t) => {
  const guard = words();
  const { post, provider } = await startGuarded(t, [guard], [plain('Hello.')]);
  const messages = [
    { role: 'system', content: 'Be kind to anna@acme.test' },
    { role: 'user', content: [{ type: 'text', text: 'anna@acme.test' }] },
    { role: 'assistant', content: 'Hi anna@acme.test' },
    { role: 'user', content: 'Again' },
  ];
  await post(COMPLETIONS, { model: 'default', messages, store: false });
  t.false(JSON.stringify(provider.requests[0]?.body).includes('anna@acme.test'));
  t.deepEqual(
    guard.seen.inputs[0]?.map(({ role, isNew }) => [role, isNew]),
    [
      ['system', false],
      ['user', false],
      ['assistant', false],
      ['user', true],
    ],
  );
  t.is(guard.seen.chats[0]?.sessionId, undefined);
});

test('chats with an agent: arguments and results of tools are guarded as well, in plain answers and in streams', async (t) => {
  const guard = words();
  const call = toolCalls(['calculator', { expression: '6*7' }], ['calculator', { note: 'pineapple' }]);
  const { post, stored, provider } = await startGuarded(
    t,
    [guard],
    [call, stream(PIECES), call, stream(PIECES), toolCalls(['own', { fruit: 'pineapple' }])],
  );
  const request = { agent: 'helper', messages: MESSAGES, include_agentic_blocks: true };
  const whole = await post(AGENT, request);
  t.is(whole.body.choices[0].message.content, SHOWN);
  t.false(JSON.stringify(whole.body).includes('pineapple'));
  t.true(JSON.stringify(whole.body).includes('[fruit]'));
  t.false(JSON.stringify(provider.requests[1]?.body).includes('pineapple'));
  t.is((await stored(session(whole))).at(-1), `assistant: ${SHOWN}`);
  t.false(JSON.stringify(await stored(session(whole))).includes('pineapple'));
  t.like(guard.seen.chats[0], { agent: 'helper', model: 'default' });
  t.is(guard.seen.chats.length, 1);
  t.true(guard.seen.inputs.some(([first]) => first?.role === 'tool'));

  const streamed = await post(AGENT, { ...request, stream: true });
  t.is(textOfStream(streamed.body), SHOWN);
  t.false(streamed.body.includes('pineapple'));

  const tools = [{ type: 'function', function: { name: 'own' } }];
  const handedOut = await post(AGENT, { messages: MESSAGES, tools, stream: true });
  t.regex(handedOut.body, /\[fruit\]/);
  t.false(handedOut.body.includes('pineapple'));
});

test('the v2 API, in both modes and in the background, gets guarded answers', async (t) => {
  const { post, stored, gateway } = await startGuarded(t, [words()], [stream(PIECES)]);
  const body = { agent_id: 'helper', message: 'I am anna@acme.test' };
  const legacy = await post('/api/v2/chat/stream', body);
  t.is(dataOf(legacy.body).join(''), `${SHOWN}[DONE]`);
  t.deepEqual(await stored(session(legacy)), ['user: I am [mail]', `assistant: ${SHOWN}`]);
  const a2ui = await post('/api/v2/chat/stream?a2ui=true', body);
  const texts = eventsOf(a2ui.body).map(({ data }) => data.data?.delta ?? '');
  t.is(texts.join(''), SHOWN);
  const background = await post('/api/v2/chat/stream?a2ui=true', {
    ...body,
    session_id: 's1',
    background: true,
  });
  t.is(
    eventsOf(background.body)
      .map(({ data }) => data.data?.delta ?? '')
      .join(''),
    SHOWN,
  );
  const again = await gateway.request('/api/v2/chat/stream?a2ui=true&session_id=s1');
  t.false(String(again.body).includes('pineapple'));
});

test('v3 chats and messages that are entered get guarded texts', async (t) => {
  const { post, gateway, provider } = await startGuarded(t, [words()], [stream(PIECES)]);
  const said = { role: 'user', content: 'I am anna@acme.test', content_type: 'text' };
  const created = await post('/v1/conversation/create', { bot_id: 'helper', messages: [said] });
  const conversation = created.body.data.id;
  const streamed = await post(`/v3/chat?conversation_id=${conversation}`, {
    bot_id: 'helper',
    user_id: 'u',
    stream: true,
    auto_save_history: true,
    additional_messages: [said],
  });
  const answer = eventsOf(streamed.body).findLast(({ event }) => event === 'conversation.message.completed');
  t.is(answer?.data.content, SHOWN);
  t.false(streamed.body.includes('pineapple'));
  t.false(JSON.stringify(provider.requests[0]?.body).includes('anna@acme.test'));
  const { body } = await gateway.request(`/v1/conversation/message/list?conversation_id=${conversation}`, {
    method: 'POST',
    body: {},
  });
  t.is(body.data.length, 3);
  t.notRegex(JSON.stringify(body), /pineapple|anna@acme/);
});

test('a gRPC chat gets guarded events', async (t) => {
  const { gateway } = await startGuarded(t, [words()], [stream(PIECES)]);
  const chat = gateway.grpc({
    proto: new URL('svc/conversation/v1/conversation.proto', PROTOS),
    service: SERVICES.conversation,
  });
  const { messages } = await chat.call('Chat', { message: 'Hi', extra: { agent_name: 'helper' } });
  const said = messages.find(({ event_type }: { event_type: string }) => event_type === 'message');
  t.is(said.message.content, SHOWN);
  t.notRegex(JSON.stringify(messages), /pineapple/);
});

test('an agent task of a workflow is guarded', async (t) => {
  const guard = words();
  const { gateway, provider } = await startGuarded(t, [guard], [stream(PIECES)]);
  const graph = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'ask', type: 'agent_task', config: { prompt: 'I am anna@acme.test', agent: 'helper' } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { from: 'start', to: 'ask' },
      { from: 'ask', to: 'end' },
    ],
  };
  const workflows = clientOf(gateway);
  const { id } = await workflows.start(await workflows.publish(graph));
  const { steps } = await workflows.reaches(id, 'completed');
  t.is(steps[1].output.text, SHOWN);
  t.is(provider.requests[0]?.body.messages.at(-1).content, 'I am [mail]');
  t.like(guard.seen.chats[0], { agent: 'helper', sessionId: undefined });
});

test('a refused input is 400 with the guard and its reason, or an error of the plugin, and no model is asked', async (t) => {
  const Own = defineErrors({ banned: { code: 'acme.banned', kind: 'forbidden', title: 'Banned' } });
  const guard = words({
    open: () => ({
      input: ([first]) => ({ refuse: first?.text === 'own' ? Own.banned('Not here') : 'no cats' }),
    }),
  });
  const { post, provider } = await startGuarded(t, [guard], [plain()]);
  for (const [route, more] of [
    [COMPLETIONS, { stream: true }],
    [COMPLETIONS, {}],
    [AGENT, {}],
  ] as const) {
    const refused = await post(route, { model: 'default', messages: MESSAGES, ...more });
    t.is(refused.status, 400);
    t.like(refused.body.error, {
      code: 'guard.input-blocked',
      param: 'messages',
      message: 'The guard "acme.words" refused the input: no cats',
    });
    const own = await post(route, {
      model: 'default',
      messages: [{ role: 'user', content: 'own' }],
      ...more,
    });
    t.is(own.status, 403);
    t.like(own.body.error, { code: 'acme.banned', message: 'Not here' });
  }
  const v2 = await post('/api/v2/chat/stream', { agent_id: 'helper', message: 'cats' });
  t.is(v2.status, 400);
  t.is(provider.requests.length, 0);
});

test('a refused answer is 502, or in a stream an error and then [DONE]; nothing of what was refused leaves or is stored', async (t) => {
  // What it holds it lets through at the end.
  const held = outputGuard((text, { isEnd }) => {
    if (text.includes('poison')) return { refuse: 'that is bad' };
    return isEnd ? undefined : { hold: Math.min(5, text.length) };
  });
  const { post, gateway } = await startGuarded(
    t,
    [held],
    [plain('Some poison'), stream(['This is a lot of text po', 'ison.', ' More'])],
  );
  const whole = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
  t.is(whole.status, 502);
  t.like(whole.body.error, { code: 'guard.output-blocked' });
  t.is(whole.headers.get('x-should-retry'), 'false');
  const headers = { 'x-svc-session-id': 'kept' };
  const streamed = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true }, headers);
  t.is(streamed.status, 200);
  t.regex(streamed.body, /event: error\ndata: .*guard\.output-blocked.*\n\ndata: \[DONE\]\n\n$/);
  t.notRegex(streamed.body.split('event: error')[0]!, /po/);
  t.is((await gateway.request('/api/v2/sessions/kept/messages')).status, 404);
});

test('a guard ends an answer: what it says leaves, the finish reason is content_filter, and the model is not read on', async (t) => {
  const guard = outputGuard((text) =>
    text.includes('ENOUGH') ? { end: `${text.split('ENOUGH')[0]}(the rest is withheld)` } : undefined,
  );
  const { post, stored, provider } = await startGuarded(
    t,
    [guard],
    [
      stream(['One ', 'two ENOUGH three', ' four'], { hangAfter: 3 }),
      plain('One ENOUGH two'),
      stream(['One ', 'two ENOUGH three', ' four'], { hangAfter: 3 }),
    ],
  );
  const shown = 'One two (the rest is withheld)';
  const streamed = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
  t.is(textOfStream(streamed.body), shown);
  t.is(JSON.parse(dataOf(streamed.body).at(-2)!).choices[0].finish_reason, 'content_filter');
  t.is(dataOf(streamed.body).at(-1), '[DONE]');
  t.is((await stored(session(streamed))).at(-1), `assistant: ${shown}`);
  await until(async () => provider.requests[0]!.isAborted);

  const whole = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
  t.like(whole.body.choices[0], {
    finish_reason: 'content_filter',
    message: { content: 'One (the rest is withheld)' },
  });
  const agent = await post(AGENT, { agent: 'helper', messages: MESSAGES });
  t.like(agent.body.choices[0], { finish_reason: 'content_filter', message: { content: shown } });
  await until(async () => provider.requests[2]!.isAborted);
});

test('guards are asked in their order, and credentials are redacted behind all of them', async (t) => {
  const key = `sk-proj-${'a1B2'.repeat(12)}`;
  const add = (name: string, order: number | undefined) =>
    outputGuard((text, { isEnd }) => (isEnd ? { replace: `${text}${name.at(-1)}` } : undefined), {
      name,
      ...(order !== undefined && { order }),
    });
  const leak = outputGuard((text, { isEnd }) => (isEnd ? { replace: `${text} ${key}` } : undefined), {
    name: 'acme.z',
    order: 9,
  });
  const { post } = await startGuarded(
    t,
    [add('acme.c', undefined), add('acme.a', 5), add('acme.b', -1), add('acme.d', undefined), leak],
    [plain('Text '), stream(['Te', 'xt '])],
  );
  const whole = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
  t.regex(whole.body.choices[0].message.content, /^Text bcda \[REDACTED:[^\]]+\]$/);
  const streamed = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
  t.regex(textOfStream(streamed.body), /^Text bcda \[REDACTED:[^\]]+\]$/);
});

test('a guard that fails, is late or says no verdict refuses, or lets pass and is left out, as it says', async (t) => {
  const failing = {
    throws: () => {
      throw new Error('broken');
    },
    late: () => pause(60_000, undefined, { ref: false }),
    misspelled: () => ({ refused: true }) as never,
    holds: (text: string) => ({ hold: text.length }),
    nonsense: () => ({ hold: -1 }),
  } satisfies Record<string, ReturnType<typeof outputGuard>['name'] | Parameters<typeof outputGuard>[0]>;
  for (const [name, look] of Object.entries(failing)) {
    const timeoutMs = 50;
    const { post, gateway } = await startGuarded(
      t,
      [outputGuard(look as Parameters<typeof outputGuard>[0], { timeoutMs })],
      [plain('Hello'), stream(['Hel', 'lo'])],
    );
    const refused = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
    t.is(refused.status, 503, name);
    t.like(refused.body.error, { code: 'guard.failed' }, name);
    const streamed = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
    t.is(streamed.status, 503, name);
    t.is(gateway.logs().filter((line) => line.includes('a guard of chats failed')).length, 1, name);
    const metrics = await gateway.request('/metrics', { token: null });
    t.regex(
      String(metrics.body),
      /svc_chat_guard_verdicts_total\{guard="acme.out",direction="output",verdict="failed"\} 2/,
    );
    await gateway.stop();

    const calls = { count: 0 };
    const counted = (text: string, at: { readonly isEnd: boolean }) => {
      calls.count += 1;
      return (look as Parameters<typeof outputGuard>[0])(text, at);
    };
    const passing = await startGuarded(
      t,
      [outputGuard(counted, { timeoutMs, onFailure: 'pass' })],
      [stream(['Hel', 'lo'])],
    );
    const passed = await passing.post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
    t.is(textOfStream(passed.body), 'Hello', name);
    if (name !== 'holds') t.is(calls.count, 1, name);
    await passing.gateway.stop();
  }
});

test('a guard that cannot be opened, or fails at an input, refuses; one that declines a tenant leaves its chats alone', async (t) => {
  const declined: string[] = [];
  const guards = [
    words({
      open(chat) {
        if (chat.requestId === 'broken') throw new Error('no rules');
        if (chat.requestId === 'late') return pause(60_000, undefined, { ref: false }) as never;
        if (chat.requestId === 'input') return { input: () => ({ replace: [] }) };
        declined.push(chat.tenantId);
        return undefined;
      },
      timeoutMs: 50,
    }),
  ];
  const { post } = await startGuarded(t, guards, [plain('A pineapple.')]);
  for (const id of ['broken', 'late', 'input']) {
    const { status, body } = await post(
      COMPLETIONS,
      { model: 'default', messages: MESSAGES },
      { 'x-request-id': id },
    );
    t.deepEqual([status, body.error.code], [503, 'guard.failed'], id);
  }
  const free = await post(COMPLETIONS, { model: 'default', messages: MESSAGES });
  t.is(free.body.choices[0].message.content, 'A pineapple.');
  t.is(declined.length, 1);
});

test('a guard gathers text before it is asked', async (t) => {
  const seen: [string, boolean][] = [];
  const guard = outputGuard(
    (text, { isEnd }) => {
      seen.push([text, isEnd]);
      return undefined;
    },
    { gather: 5 },
  );
  const { post } = await startGuarded(t, [guard], [stream(['ab', 'cd', 'ef', 'gh'])]);
  const { body } = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
  t.is(textOfStream(body), 'abcdefgh');
  t.deepEqual(seen, [
    ['abcdef', false],
    ['gh', true],
  ]);
});

test('reasoning is guarded before the text that follows it, and what no guard can look at is left out', async (t) => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    sse({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason, logprobs: { content: [] } }],
    });
  const script = rawStream(
    chunk({ role: 'assistant', reasoning_content: 'I think of a pine' }),
    chunk({ reasoning_content: 'apple and a pine' }),
    chunk({ content: 'Hi', secret_part: { text: 'pineapple' } }),
    chunk({ reasoning_details: [{ text: 'pineapple' }] }),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  );
  const { post } = await startGuarded(t, [words()], [script]);
  const { body } = await post(COMPLETIONS, { model: 'default', messages: MESSAGES, stream: true });
  t.notRegex(body, /pineapple|logprobs/);
  const deltas = dataOf(body)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices[0]?.delta ?? {});
  t.is(deltas.map((delta) => delta.reasoning_content ?? '').join(''), 'I think of a [fruit] and a pine');
  t.is(deltas.map((delta) => delta.content ?? '').join(''), 'Hi');
  const agent = await post('/api/v2/chat/stream?a2ui=true', { agent_id: 'helper', message: 'Hi' });
  t.notRegex(agent.body, /pineapple/);
});

test('a stream goes on with the guards that it began with when their plugin is disabled', async (t) => {
  let goOn = () => {};
  const waits = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const frame = (delta: object, finish_reason: string | null = null) =>
    sse({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    });
  const { gateway } = await startGuarded(
    t,
    [words()],
    [
      async ({ response, write }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        await write(frame({ role: 'assistant', content: 'This is a long beginning. ' }));
        await waits;
        await write(frame({ content: 'pine' }) + frame({ content: 'apple' }) + frame({}, 'stop'));
        await write('data: [DONE]\n\n');
        response.end();
      },
      plain('A pineapple.'),
    ],
  );
  const response = await fetch(`${gateway.url}${COMPLETIONS}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'default', messages: MESSAGES, stream: true }),
  });
  const disabled = await gateway.request('/admin/v1/plugins/acme/disable', { method: 'POST' });
  t.is(disabled.status, 200);
  const after = await gateway.request(COMPLETIONS, {
    method: 'POST',
    body: { model: 'default', messages: MESSAGES },
  });
  t.is(after.body.choices[0].message.content, 'A pineapple.');
  goOn();
  t.is(textOfStream(await response.text()), 'This is a long beginning. [fruit]');
});

test('the words of a decision about a paused chat are guarded', async (t) => {
  const { post, provider, gateway } = await startGuarded(
    t,
    [words()],
    [toolCalls(['ask_user', { question: 'Who?' }]), stream(PIECES)],
  );
  await writeFile(
    `${gateway.folder}/agents.d/asker.yaml`,
    'apiVersion: svc/v1\nkind: Agent\nmetadata: { name: asker, description: Asks }\nspec: { type: chat_model_agent, tools: [{ ref: builtin/ask_user }] }\n',
  );
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents?.length === 2);
  const asked = await post('/api/v2/chat/stream?a2ui=true', { agent_id: 'asker', message: 'Hi' });
  const interrupt = eventsOf(asked.body).find(({ event }) => event === 'interrupt');
  t.truthy(interrupt, asked.body);
  const { id, fields } = interrupt!.data.data;
  const resumed = await post('/api/v2/chat/resume?a2ui=true', {
    agent_id: 'asker',
    session_id: session(asked),
    input: { [id]: { answers: { [fields[0].name]: 'anna@acme.test' } } },
  });
  t.notRegex(resumed.body, /pineapple|anna@acme/);
  t.is(resumed.status, 200);
  t.true(JSON.stringify(provider.requests[1]?.body).includes('[mail]'));
  t.false(JSON.stringify(provider.requests[1]?.body).includes('anna@acme.test'));
});

test('the signal of a guard aborts when its chat ends early, whatever ends it, and not at its end', async (t) => {
  const guard = words();
  let refuses = false;
  const strict: ChatGuard = {
    name: 'acme.strict',
    order: 1,
    open: () => ({ input: () => (refuses ? { refuse: 'Not now.' } : undefined) }),
  };
  const late = Promise.withResolvers<AbortSignal>();
  const slow: ChatGuard = {
    name: 'acme.slow',
    order: 2,
    timeoutMs: 30_000,
    open: ({ signal, userId }) => {
      if (userId !== 'slow') return undefined;
      late.resolve(signal);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    },
  };
  const broken: ChatGuard = {
    name: 'acme.broken',
    open: ({ userId }) => {
      if (userId === 'slow') throw new Error('broken');
      return undefined;
    },
  };
  const { post } = await startGuarded(
    t,
    [guard, strict, slow, broken],
    [plain('Hello.'), failure(500), failure(500), failure(500), stream(['Hello.'])],
  );
  const isAborted = () => guard.seen.chats.at(-1)!.signal.aborted;
  const request = { model: 'default', messages: MESSAGES };
  t.is((await post(COMPLETIONS, request)).status, 200);
  t.false(isAborted());
  t.is((await post(COMPLETIONS, request)).status, 502);
  t.true(isAborted(), 'of a plain answer');
  t.is((await post(COMPLETIONS, { ...request, stream: true })).status, 502);
  t.true(isAborted(), 'of a stream');
  t.is((await post(AGENT, request)).status, 502);
  t.true(isAborted(), 'of an agent');
  t.is((await post(AGENT, request)).status, 200);
  t.false(isAborted());
  refuses = true;
  t.is((await post(COMPLETIONS, request)).status, 400);
  t.true(isAborted(), 'of an input that another guard refuses');
  t.is((await post(COMPLETIONS, request, { 'x-svc-user-id': 'slow' })).status, 503);
  t.true((await late.promise).aborted, 'of a guard that is still asked when another fails');
});
