import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { failure, type ProviderScript, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { eventsOf, startRuntime, toolCalls } from './runtime-gateway.ts';

const AGENTS = `
apiVersion: svc/v1
kind: Agent
metadata: { name: payer, description: Pays }
spec:
  type: chat_model_agent
  system_prompt: You pay.
  tools:
    - { ref: builtin/calculator, requires_approval: true }
    - { ref: builtin/ask_user }
    - { ref: builtin/current_time }
---
apiVersion: svc/v1
kind: Agent
metadata: { name: boss, description: Leads }
spec:
  type: supervisor
  system_prompt: You lead.
  sub_agents: [{ ref: payer }]
`;

async function start(
  t: ExecutionContext,
  scripts: readonly ProviderScript[],
  env: Record<string, string> = {},
) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startRuntime(t, {
    env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0', ...env },
  });
  await writeFile(path.join(gateway.folder, 'agents.d', 'agents.yaml'), AGENTS);
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 2);
  const post = (route: string, body: object, headers = {}) =>
    gateway.request(`/api/v2/chat/${route}`, { method: 'POST', body, headers });
  const chat = async (message: string, more: object = {}, agent_id = 'payer') => {
    const answer = await post('stream?a2ui=true', { agent_id, message, ...more });
    return {
      ...answer,
      session: answer.headers.get('x-svc-session-id') ?? '',
      events: eventsOf(String(answer.body)),
    };
  };
  const resume = async (session_id: string, input: object, agent_id = 'payer') => {
    const answer = await post('resume?a2ui=true', { agent_id, session_id, input });
    return { ...answer, events: typeof answer.body === 'string' ? eventsOf(answer.body) : [] };
  };
  const state = (session_id: string, agent_id = 'payer') =>
    gateway.request(`/api/v2/chat/interrupt_state?agent_id=${agent_id}&session_id=${session_id}`);
  return { gateway, provider, post, chat, resume, state };
}

const names = (events: readonly { readonly event: string }[]) => events.map(({ event }) => event).join(' ');

test('a chat in the legacy mode is text, and then the end', async (t) => {
  const { post, gateway } = await start(t, [stream(['Hel', 'lo\nyou'])]);
  const { status, headers, body } = await post('stream', { agent_id: 'payer', message: 'hi' });
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.is(body, 'data: Hel\n\ndata: lo\ndata: you\n\ndata: [DONE]\n\n');
  const session = headers.get('x-svc-session-id')!;
  t.regex(session, /^[0-9a-f-]{36}$/);
  const again = await post('stream', { agent_id: 'payer', message: 'and now?', session_id: session });
  t.is(again.headers.get('x-svc-session-id'), session);
  t.true(gateway.logs().every((line) => !line.includes('"level":"error"')));
});

test('in the A2UI mode each event has a name and an envelope', async (t) => {
  const { post } = await start(t, [toolCalls(['current_time', {}]), stream(['It is late.'])]);
  const body = { agent_id: 'payer', message: 'What time is it?' };
  const { body: text } = await post('stream', body, { 'x-a2ui': 'true' });
  const events = eventsOf(text);
  t.is(names(events), 'tool_call tool_result text done');
  for (const { event, data } of events) {
    t.deepEqual(Object.keys(data), ['type', 'timestamp', 'data']);
    t.is(data.type, event);
    t.true(Math.abs(Date.now() - data.timestamp) < 60_000);
  }
  t.like(events[0]?.data.data, { name: 'current_time', status: 'calling' });
  t.like(events[1]?.data.data, { id: events[0]?.data.data.id, name: 'current_time', is_error: false });
  t.deepEqual(events[2]?.data.data, { delta: 'It is late.' });
  t.is(events[3]?.data.data, null);
});

eachGatewayDatabase(
  test,
  'an approval pauses the chat, over a restart, and is given once',
  async (t, { environment }) => {
    const scripts = [toolCalls(['calculator', { expression: '6*7' }]), stream(['It is 42.'])];
    const first = await start(t, scripts, environment);
    const begun = await first.chat('What is 6*7?');
    t.is(names(begun.events), 'interrupt done');
    t.like(begun.events[0]?.data.data, {
      type: 'approval',
      agent_path: ['payer'],
      tool_call: { name: 'calculator' },
    });
    await first.gateway.stop();

    const folder = first.gateway.folder;
    t.truthy(folder);
    const { resume, state, chat, provider } = await start(t, [stream(['It is 42.'])], environment);
    const { body } = await state(begun.session);
    t.true(body.interrupted);
    t.like(body.state, { session_id: begun.session, agent_id: 'payer' });
    t.is(body.state.interrupts.length, 1);
    const busy = await chat('something else', { session_id: begun.session });
    t.deepEqual([busy.status, busy.body.code], [409, 'chat.interrupted']);

    const answers = await Promise.all([1, 2].map(() => resume(begun.session, { decision: 'approve' })));
    t.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const [resumed] = answers.filter(({ status }) => status === 200);
    t.is(names(resumed!.events), 'tool_call tool_result text done');
    t.is(resumed!.events[1]?.data.data.result, '42');
    t.is((await resume(begun.session, { decision: 'approve' })).body.code, 'chat.not-interrupted');
    t.deepEqual((await state(begun.session)).body, { interrupted: false });
    const asked = provider.requests
      .at(-1)
      ?.body.messages.map(({ role }: { role: string }) => role)
      .join(' ');
    t.is(asked, 'system user assistant tool');
  },
);

test('a rejection and edited arguments do what they say', async (t) => {
  const call = toolCalls(['calculator', { expression: '6*7' }]);
  const { chat, resume, provider } = await start(t, [
    call,
    stream(['Not done.']),
    call,
    stream(['It is 7.']),
  ]);
  const refused = await chat('6*7?');
  const no = await resume(refused.session, { decision: 'reject', message: 'too dear' });
  t.is(names(no.events), 'text done');
  t.regex(provider.requests[1]?.body.messages.at(-1).content, /refused.*too dear/);
  const edited = await chat('6*7?');
  const { id } = edited.events[0]!.data.data;
  const seven = await resume(edited.session, {
    [id]: { decision: 'edit', arguments: { expression: '3+4' } },
  });
  t.is(seven.events.find(({ event }) => event === 'tool_result')?.data.data.result, '7');
});

test('several pauses are open at once, also in a sub-agent, and each needs its decision', async (t) => {
  const two = toolCalls(
    ['calculator', { expression: '1+1' }],
    ['ask_user', { question: 'Which one?', options: ['a', 'b'] }],
  );
  const { gateway, chat, resume, state } = await start(t, [
    toolCalls(['delegate_to_payer', { task: 'Pay.' }]),
    two,
    stream(['Paid.']),
    stream(['All done.']),
  ]);
  const begun = await chat('Pay both', {}, 'boss');
  t.is(begun.status, 200);
  t.is(names(begun.events.slice(-3)), 'interrupt interrupt done');
  const { interrupts } = (await state(begun.session, 'boss')).body.state;
  t.deepEqual(
    interrupts.map((one: { agent_path: string[] }) => one.agent_path),
    [
      ['boss', 'payer'],
      ['boss', 'payer'],
    ],
  );
  const listed = await gateway.request('/api/v2/chat/interrupts');
  t.is(listed.body.total, 1);
  t.deepEqual(
    listed.body.interrupts.map(({ type, session_id }: Record<string, string>) => [type, session_id]),
    [
      ['approval', begun.session],
      ['question', begun.session],
    ],
  );

  const plain = await resume(begun.session, { decision: 'approve' }, 'boss');
  t.deepEqual([plain.status, plain.body.errors[0].pointer], [400, '/body/input']);
  const half = await resume(begun.session, { [interrupts[0].id]: 'approve' }, 'boss');
  t.is(half.body.code, 'agent.decision-invalid');
  const wrong = { [interrupts[0].id]: 'approve', [interrupts[1].id]: { answers: { answer: 'c' } } };
  t.is((await resume(begun.session, wrong, 'boss')).status, 400);
  const right = { ...wrong, [interrupts[1].id]: { answers: { answer: 'b' } } };
  const done = await resume(begun.session, right, 'boss');
  t.is(done.status, 200);
  t.is(done.events.at(-2)?.data.data.delta, 'All done.');
});

test('a decision that fits no pause is named by its place in the body', async (t) => {
  const { chat, resume } = await start(t, [toolCalls(['calculator', { expression: '6*7' }])]);
  const { session, events } = await chat('What is 6*7?');
  const { id } = events[0]!.data.data;
  for (const [input, ...problems] of [
    [{ decision: 'maybe' }, '/body/input/decision must be "approve", "reject" or "edit"'],
    [{ [id]: { decision: 'maybe' } }, `/body/input/${id}/decision must be "approve", "reject" or "edit"`],
    [
      { zzz: { decision: 'approve' } },
      `/body/input/${id} is missing: this interrupt is open`,
      '/body/input/zzz is no open interrupt',
    ],
  ] as const) {
    const { status, body } = await resume(session, input as object);
    const named = body.errors.map(({ pointer, message }: Record<string, string>) => `${pointer} ${message}`);
    t.deepEqual([status, named], [400, problems]);
  }
});

test('what is wrong is told before the stream begins, and inside it as an event', async (t) => {
  const { chat, post, resume, state } = await start(t, [failure(500)]);
  t.is((await chat('hi', {}, 'nobody')).body.code, 'agent.not-found');
  for (const [body, pointer] of [
    [{ agent_id: 'payer' }, '/body/message'],
    [{ message: 'hi' }, '/body/agent_id'],
    [{ agent_id: 'payer', message: 'hi', session_id: 'a b' }, '/body/session_id'],
  ] as const) {
    const { status, body: problem } = await post('stream', body);
    t.deepEqual([status, problem.errors[0].pointer], [400, pointer]);
  }
  t.is((await chat('hi')).status, 502);
  t.is((await resume('unknown', { decision: 'approve' })).status, 404);
  t.is((await state('unknown')).status, 404);
  t.is((await post('abort', { agent_id: 'payer', session_id: 'unknown' })).status, 404);
});

test('a failure in the middle of a stream is an event of its own', async (t) => {
  const broken: ProviderScript = async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write('data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello there. "}}]}\n\n');
    // What was sent has arrived before the connection breaks.
    await pause(300);
    response.destroy();
  };
  const { chat, post } = await start(t, [broken]);
  const { events } = await chat('hi');
  t.is(names(events), 'text error');
  t.like(events[1]?.data, { type: 'error', data: { code: 'agent.failed' } });
  const legacy = await post('stream', { agent_id: 'payer', message: 'hi' });
  t.regex(
    legacy.body,
    /^data: Hello there\. ?\n\nevent: error\ndata: \{.*"code":"agent\.failed".*\}\n\ndata: \[DONE\]\n\n$/,
  );
});

test('a chat that waits can be dropped, and a deleted session waits for nothing', async (t) => {
  const call = toolCalls(['calculator', { expression: '6*7' }]);
  const { gateway, chat, post, state, resume } = await start(t, [call]);
  const first = await chat('6*7?');
  const place = { agent_id: 'payer', session_id: first.session };
  t.is((await post('abort', place)).status, 200);
  t.deepEqual((await state(first.session)).body, { interrupted: false });
  t.is((await resume(first.session, { decision: 'approve' })).status, 409);
  t.is((await post('abort', place)).status, 404);
  const second = await chat('6*7?');
  t.is(second.status, 200);
  t.is((await gateway.request('/api/v2/chat/interrupts')).body.total, 1);
});

test('tenants, and users of one, see nothing of each other', async (t) => {
  const { gateway, chat, provider } = await start(t, [toolCalls(['calculator', { expression: '6*7' }])]);
  const begun = await chat('6*7?');
  const other = await gateway.makeTenant();
  const ask = (route: string, body?: object) =>
    gateway.request(`/api/v2/chat/${route}`, { token: other.token, ...(body && { method: 'POST', body }) });
  const place = { agent_id: 'payer', session_id: begun.session };
  t.is((await ask(`interrupt_state?agent_id=payer&session_id=${begun.session}`)).status, 404);
  t.is((await ask('resume', { ...place, input: { decision: 'approve' } })).status, 404);
  t.is((await ask('abort', place)).status, 404);
  t.is((await ask('interrupts')).body.total, 0);
  t.is(provider.requests.length, 1);
});

test('webhooks hear of runs and of calls of tools, with the turn that they report', async (t) => {
  const heard: { type: string; data: Record<string, unknown> }[] = [];
  const receiver = http.createServer(async (request, response) => {
    heard.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  t.teardown(() => receiver.close());
  const call = toolCalls(['calculator', { expression: '6*7' }]);
  const { gateway, chat, resume } = await start(t, [call, stream(['It is 42.']), failure(500)], {
    SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1/32',
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const body = { url, events: ['agent.run.*', 'tool.*'] };
  t.is((await gateway.request('/api/v2/admin/webhooks', { method: 'POST', body })).status, 201);
  const begun = await chat('6*7?');
  await resume(begun.session, { decision: 'approve' });
  await chat('again');
  await until(() => heard.length >= 4);
  const types = heard.map(({ type }) => type).sort();
  t.deepEqual(types, [
    'agent.run.completed',
    'agent.run.failed',
    'agent.run.interrupted',
    'tool.call.completed',
  ]);
  for (const { type, data } of heard) {
    t.is(data.agent_id, 'payer');
    if (type !== 'agent.run.failed') t.is(data.session_id, begun.session, type);
  }
  t.false(JSON.stringify(heard).includes('It is'), 'content stays here');
});
