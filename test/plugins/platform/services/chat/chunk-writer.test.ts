import test from 'ava';
import { createChunkWriter } from '../../../../../plugins/platform/services/chat/chunk-writer.ts';

const HEAD = { id: 'chatcmpl-ours', created: 7, model: 'default' };
const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const CHUNK = {
  id: 'theirs',
  object: 'chat.completion.chunk' as const,
  created: 1,
  model: 'gpt',
  choices: [],
};
const say = (content: string) => [{ index: 0, delta: { content }, finish_reason: null }];

test('chunks carry the id, time and model of the answer, and of the provider only what it says', (t) => {
  const writer = createChunkWriter(HEAD, false);
  const role = [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }];
  const chunk = { ...CHUNK, provider: 'x', system_fingerprint: 'fp_1' };
  t.deepEqual(JSON.parse(writer.choices(role, chunk)), {
    ...HEAD,
    object: 'chat.completion.chunk',
    system_fingerprint: 'fp_1',
    choices: role,
  });
});

test('the first delta gets the role that a provider leaves out, and no other delta does', (t) => {
  const writer = createChunkWriter(HEAD, false);
  const [first, second] = ['a', 'b'].map((text) => JSON.parse(writer.choices(say(text))).choices[0].delta);
  t.deepEqual(first, { role: 'assistant', content: 'a' });
  t.deepEqual(second, { content: 'b' });
});

test('a role of null is as none', (t) => {
  const writer = createChunkWriter(HEAD, false);
  const choices = [{ index: 0, delta: { role: null as never, content: 'a' } }];
  t.deepEqual(JSON.parse(writer.choices(choices)).choices[0].delta, { role: 'assistant', content: 'a' });
});

test('usage is told in a chunk of its own, where it was asked for, and the others say null', (t) => {
  const asked = createChunkWriter(HEAD, true);
  t.is(JSON.parse(asked.choices(say('a'))).usage, null);
  t.like(JSON.parse(asked.usage(USAGE)!), { choices: [], usage: USAGE });
  const unasked = createChunkWriter(HEAD, false);
  t.false('usage' in JSON.parse(unasked.choices(say('a'))));
  t.is(unasked.usage(USAGE), undefined);
});
