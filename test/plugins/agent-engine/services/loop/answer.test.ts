import test from 'ava';
import fc from 'fast-check';
import type { ChatChunk, ChatDelta } from '../../../../../plugins/agent-engine/contract.ts';
import {
  joinAnswer,
  MAX_ANSWER,
  MAX_CALLS,
} from '../../../../../plugins/agent-engine/services/loop/answer.ts';

const chunk = (delta: ChatDelta, finish_reason: string | null = null): ChatChunk => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
});

function join(deltas: readonly ChatDelta[]) {
  let ids = 0;
  const builder = joinAnswer(() => {
    ids += 1;
    return `new-${ids}`;
  });
  for (const delta of deltas) builder.add(chunk(delta));
  return builder.answer();
}

/** A text in pieces, cut wherever. */
const pieces = fc.array(fc.string({ maxLength: 5 }), { maxLength: 8 });

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
            ...{ id: `id-${index}`, type: 'function' as const },
            function: { name, arguments: given.join('') },
          })),
        );
      },
    ),
  );
});

test('calls without an id, or with the id of another, get one of their own', (t) => {
  const { calls } = join([
    { tool_calls: [{ index: 0, function: { name: 'a' } }] },
    { tool_calls: [{ index: 1, id: 'x', function: { name: 'b' } }] },
    { tool_calls: [{ index: 2, id: 'x', function: { name: 'c' } }] },
  ]);
  t.deepEqual(
    calls.map(({ id }) => id),
    ['new-1', 'x', 'new-2'],
  );
});

test('a server that gives every call the index 0 is understood by their ids', (t) => {
  const { calls } = join([
    { tool_calls: [{ index: 0, id: 'x', function: { name: 'a', arguments: '{' } }] },
    { tool_calls: [{ index: 0, id: 'x', function: { arguments: '}' } }] },
    { tool_calls: [{ index: 0, id: 'y', function: { name: 'b', arguments: '{}' } }] },
  ]);
  t.deepEqual(
    calls.map(({ id, function: { name, arguments: given } }) => [id, name, given]),
    [
      ['x', 'a', '{}'],
      ['y', 'b', '{}'],
    ],
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

test('what a model says instead of an answer is its text', (t) => {
  t.is(join([{ refusal: 'I ' }, { refusal: 'refuse' }]).text, 'I refuse');
});

test('the last usage and finish reason count', (t) => {
  const builder = joinAnswer(() => 'x');
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
