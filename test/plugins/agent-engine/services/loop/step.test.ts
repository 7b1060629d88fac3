import test from 'ava';
import fc from 'fast-check';
import type { ToolCall } from '../../../../../plugins/agent-engine/contract.ts';
import {
  beginStep,
  closeStep,
  finishCall,
  nextStep,
} from '../../../../../plugins/agent-engine/services/loop/step.ts';

const call = (name: string, given = '{}'): ToolCall => ({
  ...{ id: `id-${name}`, type: 'function' },
  function: { name, arguments: given },
});

for (const [finishReason, calls, expected] of [
  ['stop', [], { is: 'finish', finish: 'stop' }],
  [undefined, [], { is: 'finish', finish: 'stop' }],
  ['tool_calls', [], { is: 'finish', finish: 'stop' }],
  ['something_new', [], { is: 'finish', finish: 'stop' }],
  ['tool_calls', [call('a')], { is: 'calls' }],
  ['stop', [call('a')], { is: 'calls' }],
  ['length', [], { is: 'finish', finish: 'length' }],
  ['length', [call('a')], { is: 'finish', finish: 'length' }],
  ['content_filter', [call('a')], { is: 'finish', finish: 'content_filter' }],
] as const) {
  test(`finish reason ${finishReason} with ${calls.length} calls means ${JSON.stringify(expected)}`, (t) => {
    t.deepEqual(nextStep({ finishReason, calls }), expected);
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
