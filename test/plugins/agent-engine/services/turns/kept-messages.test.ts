import test from 'ava';
import { type ChatMessage, MAX_KEPT, type ToolCall } from '../../../../../plugins/agent-engine/contract.ts';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { keptMessages } from '../../../../../plugins/agent-engine/services/turns/kept-messages.ts';
import { testGuard } from '../../../platform/services/chat/chat-fakes.ts';

const keep = (message: ChatMessage) => keptMessages([message], testGuard)[0];

test('credentials are not kept, wherever they stand', (t) => {
  t.deepEqual(keep({ role: 'user', content: 'my SECRET' }), { role: 'user', content: 'my [R]' });
  t.deepEqual(keep({ role: 'user', content: [{ type: 'text', text: 'SECRET' }] })?.content, [
    { type: 'text', text: '[R]' },
  ]);
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"key":"SECRET"}' } } as const;
  t.deepEqual(keep({ role: 'assistant', content: null, tool_calls: [call] })?.tool_calls, [
    { ...call, function: { name: 'f', arguments: '{"key":"[R]"}' } },
  ]);
});

test('names and ids are kept without credentials, and what a provider wants back as it came', (t) => {
  const extra_content = { google: { thought_signature: 'SECRET' } };
  const call = {
    id: 'SECRET',
    type: 'function',
    function: { name: 'SECRET', arguments: '{}', note: 'SECRET' },
    extra_content,
    note: 'SECRET',
  } as const;
  t.deepEqual(keep({ role: 'assistant', name: 'SECRET', tool_calls: [call] }), {
    role: 'assistant',
    content: undefined,
    name: '[R]',
    tool_calls: [
      {
        id: '[R]',
        type: 'function',
        function: { name: '[R]', arguments: '{}', note: '[R]' },
        extra_content,
        note: '[R]',
      } as ToolCall,
    ],
  });
  t.is(keep({ role: 'tool', content: '', tool_call_id: 'SECRET' })?.tool_call_id, '[R]');
});

test("a call of a provider's own tool is kept without credentials", (t) => {
  const call = { id: 'c', type: 'custom', custom: { name: 'sh', input: 'SECRET' } } as unknown as ToolCall;
  t.deepEqual(keep({ role: 'assistant', content: null, tool_calls: [call] })?.tool_calls as unknown, [
    { ...call, custom: { name: 'sh', input: '[R]' } },
  ]);
});

test('small media are kept, large ones are named', (t) => {
  const small = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
  t.deepEqual(keep({ role: 'user', content: [small] })?.content, [small]);
  const large = { type: 'image_url', image_url: { url: 'A'.repeat(300_000) } };
  const [part] = keep({ role: 'user', content: [large] })!.content as { type: string; text: string }[];
  t.is(part?.type, 'text');
  t.regex(part?.text ?? '', /^\[image_url of 3000\d\d characters, not kept\]$/);
});

test('a turn that no database takes in one statement is refused', (t) => {
  const error = t.throws(() => keep({ role: 'user', content: 'a'.repeat(MAX_KEPT + 1) }));
  t.like(error, { code: 'session.turn-too-large', kind: 'too-large' });
  const long = 'a'.repeat(MAX_KEPT + 1);
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
  for (const message of [
    { role: 'user', content: 'Hi', name: long },
    { role: 'tool', content: 'Hi', tool_call_id: long },
    { role: 'assistant', tool_calls: [{ ...call, id: long }] },
    { role: 'assistant', tool_calls: [{ ...call, function: { ...call.function, name: long } }] },
    { role: 'assistant', tool_calls: [{ ...call, extra_content: { google: { thought_signature: long } } }] },
  ])
    t.throws(() => keep(message), { code: 'session.turn-too-large' });
});

for (const [name, character, most] of [
  ['U+0000, each seven bytes', '\0', 1_900_000],
  ['quotation marks, each four bytes', '"', 3_400_000],
] as const) {
  test(`what grows in a statement is measured there: ${name}`, (t) => {
    const message = (length: number): ChatMessage => ({ role: 'user', content: character.repeat(length) });
    t.notThrows(() => keep(message(most)));
    t.like(
      t.throws(() => keep(message(most + 100_000))),
      { code: 'session.turn-too-large' },
    );
  });
}

test('a credential that never ends takes nothing but its own text, and JSON stays JSON', (t) => {
  const guard = createGuard({ input: 'block', output: 'block', onFinding: () => {} });
  const key = `-----BEGIN RSA PRIVATE ${'KEY'}-----\n${'MIIEowIBAAKCAQEA'.repeat(4)}`;
  const file = { type: 'file', file: { name: 'key.pem', data: key }, detail: 'low' };
  const call = {
    id: 'c',
    type: 'function',
    function: { name: 'f', arguments: JSON.stringify({ key, a: 1 }) },
  };
  const [kept] = keptMessages([{ role: 'user', content: [file], tool_calls: [call as never] }], guard);
  const [part] = kept!.content as (typeof file)[];
  t.like(part, { type: 'file', detail: 'low', file: { name: 'key.pem' } });
  const { key: redacted, a } = JSON.parse(kept!.tool_calls![0]!.function.arguments);
  t.is(a, 1);
  for (const text of [redacted, part!.file.data]) t.regex(text, /^\[REDACTED:[a-z-]+\]$/);
});
