import test from 'ava';
import fc from 'fast-check';
import type {
  ChatChunk,
  ChatDelta,
  ChatMessage,
  ToolCall,
} from '../../../../../plugins/agent-engine/contract.ts';
import {
  joinAnswer,
  MAX_ANSWER,
  MAX_CALLS,
} from '../../../../../plugins/agent-engine/services/loop/answer.ts';
import { fitWindow } from '../../../../../plugins/agent-engine/services/loop/ask-model.ts';
import {
  beginStep,
  closeStep,
  finishCall,
  finishOf,
} from '../../../../../plugins/agent-engine/services/loop/step.ts';
import { estimateMessageTokens } from '../../../../../plugins/records/contract.ts';

const chunk = (delta: ChatDelta, finish_reason: string | null = null): ChatChunk => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});

function join(deltas: readonly ChatDelta[]) {
  const builder = joinAnswer();
  for (const delta of deltas) builder.add(chunk(delta));
  return builder.answer();
}

/** A text in pieces, cut wherever. */
const pieces = fc.array(fc.string({ maxLength: 5 }), { maxLength: 8 });

test('an answer may bring back as much for its provider as fits into a chunk', (t) => {
  const reasoning_details = Array.from({ length: 300_000 }, (_, index) => index % 10);
  t.deepEqual(join([{ reasoning_details }, { content: 'Hi' }]).reasoningDetails, reasoning_details);
});

test('however an answer is cut into chunks, it is joined to the same', (t) => {
  fc.assert(
    fc.property(
      pieces,
      fc.array(fc.record({ name: fc.string({ minLength: 1 }), given: pieces }), { maxLength: 5 }),
      (text, calls) => {
        const deltas: ChatDelta[] = [
          ...text.map((content) => ({ content })),
          ...calls.map(({ name }, index) => ({
            tool_calls: [{ index, id: `id-${index}`, function: { name } }],
          })),
          // Arguments of all calls, mixed.
          ...Array.from({ length: 8 }, (_, n) => ({
            tool_calls: calls.flatMap(({ given }, index) =>
              given[n] === undefined ? [] : [{ index, function: { arguments: given[n] } }],
            ),
          })),
        ];
        const answer = join(deltas);
        t.is(answer.text, text.join(''));
        t.deepEqual(
          answer.calls,
          calls.map(({ name, given }, index) => ({
            id: `id-${index}`,
            type: 'function' as const,
            function: { name, arguments: given.join('') },
          })),
        );
      },
    ),
  );
});

test('calls beyond the most are counted and not kept', (t) => {
  const { calls, dropped } = join(
    Array.from({ length: MAX_CALLS + 10 }, (_, index) => ({
      tool_calls: [{ index, id: `${index}`, function: { name: 'a' } }],
    })),
  );
  t.is(calls.length, MAX_CALLS);
  t.is(dropped, 10);
});

test('an answer without an end is given up', (t) => {
  const long = 'x'.repeat(MAX_ANSWER / 4);
  for (const delta of [
    { content: long },
    { reasoning_content: long },
    { tool_calls: [{ index: 0, id: 'x', function: { name: 'a', arguments: long } }] },
  ])
    t.throws(() => join(Array.from({ length: 5 }, () => delta)), { code: 'model.upstream' });
});

test('so is one whose calls bring along too much for the provider, or have endless ids', (t) => {
  const long = 'x'.repeat(MAX_ANSWER / 4);
  for (const call of [{ extra_content: { signature: long } }, { id: long }]) {
    const deltas = Array.from({ length: 5 }, (_, index) => ({ tool_calls: [{ index, ...call }] }));
    t.throws(() => join(deltas), { code: 'model.upstream' });
  }
});

test('what a model says instead of an answer is its text', (t) => {
  t.is(join([{ refusal: 'I ' }, { refusal: 'refuse' }]).text, 'I refuse');
});

test('the last usage and finish reason count', (t) => {
  const builder = joinAnswer();
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  builder.add({ ...chunk({}), usage: { ...usage, prompt_tokens: 9 } });
  builder.add(chunk({}, 'length'));
  builder.add({ ...chunk({}), choices: [], usage });
  t.like(builder.answer(), { finishReason: 'length', usage });
});

test('signatures of a provider are kept as they came', (t) => {
  const answer = join([
    { reasoning_details: [{ signature: 'a' }] },
    { tool_calls: [{ index: 0, id: 'x', function: { name: 'f' }, extra_content: { signature: 'b' } }] },
    { reasoning_details: [{ signature: 'c' }] },
  ]);
  t.deepEqual(answer.reasoningDetails, [{ signature: 'a' }, { signature: 'c' }]);
  t.deepEqual(answer.calls[0]?.extra_content, { signature: 'b' });
});

const size = (messages: readonly ChatMessage[]) =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
const output = (length: number, id = 'x'): ChatMessage => ({
  role: 'tool',
  tool_call_id: id,
  content: 'word '.repeat(length / 5),
});
const answer: ChatMessage = { role: 'assistant', content: 'ok' };

test('the oldest outputs are shortened first, and no more than needed', (t) => {
  const messages = [output(10_000, 'a'), answer, output(10_000, 'b'), answer, output(10_000, 'c')];
  const fitted = fitWindow(messages, size(messages) - 1_000);
  t.regex(String(fitted[0]?.content), /\[shortened: 10000 characters were here/);
  t.deepEqual(fitted.slice(1), messages.slice(1));
  const tight = fitWindow(messages, 100);
  t.true(String(tight[2]?.content).includes('[shortened'));
  t.is(tight[4], messages[4]);
});

test('a conversation that fits is the same object', (t) => {
  const messages = [output(10_000), answer];
  t.is(fitWindow(messages, size(messages)), messages);
});

test('no message goes, nothing but outputs changes, and it never grows', (t) => {
  const message = fc.oneof(
    fc.nat(3_000).map((length) => output(length)),
    fc.string({ maxLength: 3_000 }).map((content): ChatMessage => ({ role: 'user', content })),
    fc.constant(answer),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), fc.nat(5_000), (messages, most) => {
      const fitted = fitWindow(messages, most);
      t.is(fitted.length, messages.length);
      for (const [index, one] of fitted.entries())
        if (messages[index]!.role !== 'tool') t.is(one, messages[index]!);
      t.true(size(fitted) <= size(messages));
    }),
  );
});

const call = (name: string, given = '{}'): ToolCall => ({
  id: `id-${name}`,
  type: 'function',
  function: { name, arguments: given },
});

for (const [finishReason, calls, expected] of [
  ['stop', [], 'stop'],
  [undefined, [], 'stop'],
  ['tool_calls', [], 'stop'],
  ['something_new', [], 'stop'],
  ['tool_calls', [call('a')], undefined],
  ['stop', [call('a')], undefined],
  ['length', [], 'length'],
  ['length', [call('a')], 'length'],
  ['content_filter', [call('a')], 'content_filter'],
] as const) {
  test(`finish reason ${finishReason} with ${calls.length} calls ${expected === undefined ? 'goes on' : `ends as ${expected}`}`, (t) => {
    t.is(finishOf({ finishReason, calls }), expected);
  });
}

test('every call of an answer has one result, in order, or is the caller’s', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ isClient: fc.boolean(), order: fc.nat() })),
      fc.nat(100),
      (given, before) => {
        const calls = given.map(({ isClient }, index) => call(`${isClient ? 'client' : 'server'}-${index}`));
        const step = beginStep({ text: '', calls }, { prefix: '2.', calls: before }, (name) =>
          name.startsWith('client'),
        );
        t.deepEqual(
          step.calls.map(({ position }) => position),
          calls.map((_, index) => `2.${before + index + 1}`),
        );
        const open = step.calls.filter(({ status }) => status.is === 'open');
        t.is(closeStep(step) === undefined, open.length > 0);
        // Finished in whatever order.
        for (const one of [...open].sort(
          (a, b) => given[step.calls.indexOf(a)]!.order - given[step.calls.indexOf(b)]!.order,
        ))
          finishCall(one, { content: one.call.function.name, isError: false });
        const closed = closeStep(step)!;
        t.deepEqual(
          closed.messages.slice(1).map(({ tool_call_id, content }) => [tool_call_id, content]),
          calls.filter((_, index) => !given[index]!.isClient).map(({ id, function: { name } }) => [id, name]),
        );
        t.deepEqual(
          closed.clientCalls.map(({ id }) => id),
          calls.filter((_, index) => given[index]!.isClient).map(({ id }) => id),
        );
      },
    ),
  );
});

test('arguments that are no JSON object are not left in the conversation', (t) => {
  for (const [given, kept] of [
    ['{"a":1}', '{"a":1}'],
    ['', '{}'],
    ['{"a"', '{}'],
    ['[1]', '{}'],
    ['null', '{}'],
  ] as const) {
    const step = beginStep({ text: 'x', calls: [call('a', given)] }, { prefix: '', calls: 0 }, () => true);
    t.is(closeStep(step)!.messages[0]!.tool_calls![0]!.function.arguments, kept);
  }
});
