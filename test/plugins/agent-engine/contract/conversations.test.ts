import test from 'ava';
import {
  type ChatMessage,
  composeConversation,
  newMessages,
  withPreamble,
} from '../../../../plugins/agent-engine/contract.ts';

const say = (role: string, content: string): ChatMessage => ({ role, content });
const texts = (messages: readonly ChatMessage[]) => messages.map(({ content }) => content);

for (const { title, history, messages, expected } of [
  { title: 'without history the request stands alone', history: [], messages: ['u:hi'], expected: ['hi'] },
  {
    title: 'history stands before what is new',
    history: ['u:one', 'a:two'],
    messages: ['u:three'],
    expected: ['one', 'two', 'three'],
  },
  {
    title: 'a new instruction replaces the ones of history and comes first',
    history: ['s:old', 'u:one', 'a:two'],
    messages: ['s:new', 'u:three'],
    expected: ['new', 'one', 'two', 'three'],
  },
  {
    title: 'an instruction of history holds until another one comes',
    history: ['s:older', 'u:one', 'a:two', 's:old', 'u:three', 'a:four'],
    messages: ['u:five'],
    expected: ['old', 'one', 'two', 'three', 'four', 'five'],
  },
  {
    title: 'an instruction in the middle of the request stays there',
    history: ['u:one', 'a:two'],
    messages: ['u:three', 's:four', 'u:five'],
    expected: ['one', 'two', 'three', 'four', 'five'],
  },
]) {
  const parse = (text: string) => say({ u: 'user', a: 'assistant', s: 'system' }[text[0]!]!, text.slice(2));
  test(title, (t) =>
    t.deepEqual(texts(composeConversation(history.map(parse), messages.map(parse))), expected),
  );
}

test('a preamble is joined with the first instruction', (t) => {
  const [first, second] = withPreamble('Soul.', [say('developer', 'Be short.'), say('user', 'hi')]);
  t.deepEqual(first, say('developer', 'Soul.\n\nBe short.'));
  t.deepEqual(second, say('user', 'hi'));
  const parts = [{ type: 'text', text: 'Be short.' }];
  t.deepEqual(withPreamble('Soul.', [{ role: 'system', content: parts }])[0]?.content, [
    { type: 'text', text: 'Soul.\n\n' },
    ...parts,
  ]);
});

test('a preamble alone is a system message, and nothing adds none', (t) => {
  t.deepEqual(withPreamble('Soul.', [say('user', 'hi')])[0], say('system', 'Soul.'));
  const messages = [say('user', 'hi')];
  t.is(withPreamble('', messages), messages);
});

test('new is what stands behind the last answer', (t) => {
  const messages = [say('user', 'one'), say('assistant', 'two'), say('tool', 'three'), say('user', 'four')];
  t.deepEqual(texts(newMessages(messages)), ['three', 'four']);
  t.deepEqual(texts(newMessages([say('user', 'one')])), ['one']);
});
