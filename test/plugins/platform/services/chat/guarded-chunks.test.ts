import test from 'ava';
import {
  type ChatChunk,
  type ChatDelta,
  MAX_KEPT,
  type ToolCallDelta,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { guardedChoices, keptAnswer } from '../../../../../plugins/platform/services/chat/guarded-answer.ts';
import { createGuardedChunks } from '../../../../../plugins/platform/services/chat/guarded-chunks.ts';
import { testGuard } from './chat-fakes.ts';

const OWNER = { requestId: 'request-1', principal: { tenantId: 'tenant-1' } };

const choices = (delta: ChatDelta, finish: string | null = null): ChatChunk['choices'] => [
  { index: 0, delta, finish_reason: finish },
];

/** Everything that leaves, and the answer as it is kept. */
function pass(given: ChatChunk['choices'][], secretPrompt?: string) {
  const guarded = createGuardedChunks(testGuard, secretPrompt, OWNER);
  const left = given.map((each) => guarded.next(each));
  const held = guarded.end();
  const all = [...left, ...held].flatMap((each) => each ?? []);
  return { left, held, all, message: guarded.message() };
}

const text = (all: { delta: ChatDelta }[]) => all.map(({ delta }) => delta.content ?? '').join('');

test('a credential that comes in pieces does not leave', (t) => {
  const { all, message } = pass([choices({ content: 'my SEC' }), choices({ content: 'RET!' }, 'stop')]);
  t.is(text(all), 'my [R]!');
  t.is(message.content, 'my [R]!');
});

test('what was held back leaves at the end, before the finish_reason', (t) => {
  const { held, all } = pass([choices({ role: 'assistant', content: 'it is SEC' }), choices({}, 'length')]);
  t.is(text(all), 'it is SEC');
  t.deepEqual(held, [
    [{ index: 0, delta: { content: 'SEC' }, finish_reason: null }],
    [{ index: 0, delta: {}, finish_reason: 'length' }],
  ]);
});

test('a chunk of which nothing may leave yet is not sent', (t) => {
  const { left } = pass([choices({ content: 'SEC' }), choices({ content: 'ond' })]);
  t.is(left[0], undefined);
  t.is(text([...left[1]!]), 'SECond');
});

test('the finish_reason waits for the end, also when it comes with text', (t) => {
  const { left, all } = pass([choices({ content: 'a' }, 'stop')]);
  t.deepEqual(left, [[{ index: 0, delta: { content: 'a' }, finish_reason: null }]]);
  t.is(all.at(-1)?.finish_reason, 'stop');
});

test('arguments of tool calls and reasoning pass the guard too', (t) => {
  const { all, message } = pass([
    choices({ reasoning_content: 'the SEC' }),
    choices({ reasoning_content: 'RET' }),
    choices({
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"SE' } }],
    }),
    choices({ tool_calls: [{ index: 0, function: { arguments: 'CRET"}' } }] }, 'tool_calls'),
  ]);
  t.is(all.map(({ delta }) => delta.reasoning_content ?? '').join(''), 'the [R]');
  t.deepEqual(message, {
    role: 'assistant',
    content: null,
    reasoning_content: 'the [R]',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"[R]"}' } }],
  });
  t.false(JSON.stringify(all).includes('SECRET'));
});

test('a refusal is kept, without credentials', (t) => {
  const { all, message } = pass([choices({ refusal: 'no SEC' }), choices({ refusal: 'RET' }, 'stop')]);
  t.is(all.map(({ delta }) => delta.refusal ?? '').join(''), 'no [R]');
  t.deepEqual(message, { role: 'assistant', content: null, refusal: 'no [R]' });
});

test('what the provider wants back with calls is kept', (t) => {
  const signed = { google: { signature: 'abc' } };
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
  const { message } = pass([
    choices({ reasoning_details: [{ text: 'hm', provider_metadata: signed }] }),
    choices({ tool_calls: [{ ...call, extra_content: signed }] }, 'tool_calls'),
  ]);
  t.deepEqual(message.reasoning_details, [{ text: 'hm', provider_metadata: signed }]);
  t.deepEqual(message.tool_calls?.[0]?.extra_content, signed);
  const many = Array.from({ length: 300_000 }, (_, index) => index % 10);
  const long = pass([choices({ reasoning_details: many }), choices({ content: 'Hi' }, 'stop')]);
  // As texts, which are sooner compared.
  t.is(JSON.stringify(long.message.reasoning_details), JSON.stringify(many));
});

test('the role comes once, also where the provider repeats it in each chunk', (t) => {
  const role = 'assistant';
  const { left } = pass([choices({ role, content: '' }), choices({ role, content: 'a' }), choices({ role })]);
  t.deepEqual(
    left.map((each) => each?.[0]?.delta),
    [{ role, content: '' }, { content: 'a' }, undefined],
  );
});

test('a call of a custom tool is kept as one, without credentials', (t) => {
  const piece = (call: object) =>
    choices({ tool_calls: [{ index: 0, ...call } as unknown as ToolCallDelta] });
  const custom = { name: 'run', input: 'print(' };
  const { all, message } = pass([
    piece({ id: 'c', type: 'custom', custom }),
    piece({ type: 'custom', custom: { input: 'SEC' } }),
    piece({ custom: { input: 'RET' } }),
    piece({ custom: { input: ')' } }),
    choices({}, 'tool_calls'),
  ]);
  const sent = all.flatMap(
    ({ delta }) => (delta.tool_calls ?? []) as readonly { custom?: { input?: string } }[],
  );
  t.is(sent.map((call) => call.custom?.input ?? '').join(''), 'print([R])', 'as it leaves, piece by piece');
  t.deepEqual(message.tool_calls as unknown, [
    { id: 'c', type: 'custom', custom: { name: 'run', input: 'print([R])' } },
  ]);
});

const CALLS = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] as const;

for (const { title, answer, kept, answeredBy } of [
  {
    title: 'of an answer the text is kept, without thoughts and additions',
    answer: {
      content: 'a',
      reasoning_content: 'hm',
      reasoning_details: [{}],
      annotations: [],
      refusal: null,
    },
    kept: { content: 'a' },
  },
  { title: 'a refusal is the text', answer: { content: null, refusal: 'no' }, kept: { content: 'no' } },
  { title: 'an answer without text is an empty one', answer: { content: null }, kept: { content: '' } },
  {
    title: 'calls are kept with the thoughts that led to them',
    answer: { content: '', tool_calls: CALLS, reasoning_content: 'hm', reasoning_details: [{}], audio: null },
    kept: {
      content: null,
      tool_calls: CALLS,
      reasoning_details: [{}, { type: 'agent-gateway.thoughts', text: 'hm' }],
    },
  },
  {
    title: 'of a provider that signs thoughts, others are not kept',
    answeredBy: { provider: 'anthropic' },
    answer: { content: '', tool_calls: CALLS, reasoning_content: 'hm', reasoning_details: [{}] },
    kept: { content: null, tool_calls: CALLS, reasoning_details: [{}] },
  },
]) {
  test(title, (t) =>
    t.deepEqual(keptAnswer({ role: 'assistant', ...answer }, { provider: 'openai', ...answeredBy }), {
      role: 'assistant',
      ...kept,
    }),
  );
}

test('log probabilities, which repeat the text, do not leave', (t) => {
  const { all } = pass([[{ index: 0, delta: { content: 'a' }, logprobs: { content: [] } }]]);
  t.false('logprobs' in all[0]!);
});

test('an unsafe answer is refused where it becomes unsafe', (t) => {
  const guarded = createGuardedChunks(testGuard, undefined, OWNER);
  t.truthy(guarded.next(choices({ content: 'UN' })));
  t.like(
    t.throws(() => guarded.next(choices({ content: 'SAFE' }))),
    { code: 'guard.output-blocked' },
  );
});

test('the system prompt is not given away', (t) => {
  t.throws(() => pass([choices({ content: 'I was told: be kind' })], 'be kind'), {
    message: /refused by the guardrails: a leak/,
  });
});

const TOO_LONG = { code: 'model.upstream', detail: 'The answer of the model is too long.' };

test('an answer without an end is broken off, whichever part of it grows', (t) => {
  const piece = 'a'.repeat(1024 * 1024);
  const call = (text: string) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  for (const delta of [{ content: piece }, call(piece)]) {
    const guarded = createGuardedChunks(testGuard, undefined, OWNER);
    const error = t.throws(() => {
      for (let sent = 0; sent < 9; sent += 1) guarded.next(choices(delta));
    });
    t.like(error, TOO_LONG);
  }
});

test('what calls bring along for their provider counts, and so do their ids', (t) => {
  const long = 'a'.repeat(MAX_KEPT / 4);
  const called = { name: 'f', arguments: '{}' };
  for (const own of [{ extra_content: { signature: long } }, { id: long }]) {
    const all = Array.from({ length: 5 }, (_, index) => ({
      index,
      id: `c${index}`,
      type: 'function' as const,
      function: called,
      ...own,
    }));
    t.like(
      t.throws(() => pass(all.map((call) => choices({ tool_calls: [call] })))),
      TOO_LONG,
    );
    const message = { role: 'assistant', content: null, tool_calls: all };
    t.like(
      t.throws(() =>
        guardedChoices([{ index: 0, message, finish_reason: 'tool_calls' }], testGuard, undefined, OWNER),
      ),
      TOO_LONG,
    );
  }
  const message = { role: 'assistant', content: 'a', reasoning_details: [{ text: 'a'.repeat(MAX_KEPT) }] };
  t.like(
    t.throws(() =>
      guardedChoices([{ index: 0, message, finish_reason: 'stop' }], testGuard, undefined, OWNER),
    ),
    TOO_LONG,
  );
});

test('an answer with thousands of calls or of members is broken off', (t) => {
  const calls = Array.from({ length: 1025 }, (_, index) => ({ index, id: `c${index}` }));
  t.like(
    t.throws(() => pass([choices({ tool_calls: calls })])),
    TOO_LONG,
  );
  const members = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`m${index}`, 'a']));
  t.like(
    t.throws(() => pass([choices(members)])),
    TOO_LONG,
  );
});

test('a member that is nested too deep is an upstream failure', (t) => {
  const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`);
  t.like(
    t.throws(() => pass([choices({ extra: deep })])),
    { code: 'model.upstream' },
  );
});

test("a call of a provider's own tool passes the guard too", (t) => {
  const call = { index: 0, id: 'c', type: 'custom', custom: { name: 'sh', input: 'SECRET' } };
  const { all } = pass([choices({ tool_calls: [call as never] })]);
  t.deepEqual(all[0]?.delta.tool_calls as unknown, [{ ...call, custom: { name: 'sh', input: '[R]' } }]);
});

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => {} });

test('arguments of a call stay JSON, whatever is taken out of them', (t) => {
  const key = `-----BEGIN RSA PRIVATE ${'KEY'}-----\n${'MIIEowIBAAKCAQEA'.repeat(4)}`;
  const call = {
    id: 'c',
    type: 'function',
    function: { name: 'f', arguments: JSON.stringify({ key, a: 1 }) },
  } as const;
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const [choice] = guardedChoices(
    [{ index: 0, message, finish_reason: 'tool_calls' }],
    guard,
    undefined,
    OWNER,
  );
  const { key: redacted, a } = JSON.parse(choice!.message.tool_calls![0]!.function.arguments);
  t.is(a, 1);
  t.regex(redacted, /^\[REDACTED:[a-z-]+\]$/);
});

test('log probabilities leave with a text that was not changed, and with no other', (t) => {
  const logprobs = { content: [] };
  const choices = ['fine', 'my SECRET'].map((content, index) => ({
    index,
    logprobs,
    finish_reason: 'stop',
    message: { role: 'assistant', content },
  }));
  const [fine, changed] = guardedChoices(choices, testGuard, undefined, OWNER);
  t.is(fine!.logprobs, logprobs);
  t.false('logprobs' in changed!);
});
