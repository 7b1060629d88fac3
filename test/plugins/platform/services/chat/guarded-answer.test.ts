import test from 'ava';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { guardedChoices } from '../../../../../plugins/platform/services/chat/guarded-answer.ts';
import { testGuard } from './chat-fakes.ts';

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => {} });

test('arguments of a call stay JSON, whatever is taken out of them', (t) => {
  const key = `-----BEGIN RSA PRIVATE ${'KEY'}-----\n${'MIIEowIBAAKCAQEA'.repeat(4)}`;
  const call = {
    id: 'c',
    type: 'function',
    function: { name: 'f', arguments: JSON.stringify({ key, a: 1 }) },
  } as const;
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const [choice] = guardedChoices([{ index: 0, message, finish_reason: 'tool_calls' }], guard, undefined);
  const { key: redacted, a } = JSON.parse(choice!.message.tool_calls![0]!.function.arguments);
  t.is(a, 1);
  t.regex(redacted, /^\[REDACTED:[a-z-]+\]$/);
});

test('log probabilities leave with a text that was not changed, and with no other', (t) => {
  const logprobs = { content: [] };
  const choices = ['fine', 'my SECRET'].map((content, index) => ({
    ...{ index, logprobs, finish_reason: 'stop' },
    message: { role: 'assistant', content },
  }));
  const [fine, changed] = guardedChoices(choices, testGuard, undefined);
  t.is(fine!.logprobs, logprobs);
  t.false('logprobs' in changed!);
});
