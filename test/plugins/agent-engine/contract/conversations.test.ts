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

const call = (...ids: readonly string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'ask', arguments: '{}' } })),
});
const result = (id: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'yes' });

/** `user`, `call a b`, `a: yes` for the result of `a`, and `a: -` for one that says that there is none. */
const outline = ({ role, content, tool_calls, tool_call_id }: ChatMessage): string => {
  if (role === 'tool') return `${tool_call_id}: ${String(content).startsWith('Error: ') ? '-' : content}`;
  return tool_calls === undefined ? role : `call ${tool_calls.map(({ id }) => id).join(' ')}`;
};

for (const { title, history, messages, expected } of [
  {
    title: 'results at the beginning of the request answer the calls of history',
    history: [say('user', 'hi'), call('a', 'b'), result('a')],
    messages: [say('system', 'Be short.'), result('b')],
    expected: ['system', 'user', 'call a b', 'a: yes', 'b: yes'],
  },
  {
    title: 'a call of history that the request does not answer gets a result',
    history: [say('user', 'hi'), call('a', 'b'), result('a')],
    messages: [say('user', 'never mind')],
    expected: ['user', 'call a b', 'a: yes', 'b: -', 'user'],
  },
  {
    title: 'of several calls the one without an answer gets a result',
    history: [say('user', 'hi'), call('a', 'b')],
    messages: [result('b'), say('user', 'and?')],
    expected: ['user', 'call a b', 'a: -', 'b: yes', 'user'],
  },
  {
    title: 'a call gets its result where it was left',
    history: [call('a'), say('user', 'never mind'), say('assistant', 'good'), call('b'), result('b')],
    messages: [say('user', 'bye')],
    expected: ['call a', 'a: -', 'user', 'assistant', 'call b', 'b: yes', 'user'],
  },
  {
    title: 'what the request itself leaves open stays open',
    history: [say('user', 'hi')],
    messages: [call('a'), say('user', 'bye')],
    expected: ['user', 'call a', 'user'],
  },
]) {
  test(title, (t) => t.deepEqual(composeConversation(history, messages).map(outline), expected));
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
