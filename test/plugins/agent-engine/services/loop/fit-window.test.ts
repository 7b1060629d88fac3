import test from 'ava';
import fc from 'fast-check';
import type { ChatMessage } from '../../../../../plugins/agent-engine/contract.ts';
import { fitWindow } from '../../../../../plugins/agent-engine/services/loop/fit-window.ts';
import { estimateMessageTokens } from '../../../../../plugins/records/contract.ts';

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
