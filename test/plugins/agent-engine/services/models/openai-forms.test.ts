import test from 'ava';
import type { ChatDelta, ToolCallDelta } from '../../../../../plugins/agent-engine/contract.ts';
import { joinAnswer } from '../../../../../plugins/agent-engine/services/loop/answer.ts';
import {
  createSoundChoices,
  soundMessage,
} from '../../../../../plugins/agent-engine/services/models/openai-forms.ts';

function ids() {
  let made = 0;
  return () => `made-${++made}`;
}

const chunk = (choices: readonly unknown[]) => ({ choices }) as unknown as Parameters<Answer['add']>[0];
type Answer = ReturnType<typeof joinAnswer>;

/** The deltas of a stream as its readers get them. */
function sound(...deltas: readonly object[]): (ChatDelta | undefined)[] {
  const soundChoices = createSoundChoices(ids());
  return deltas.map((delta) => soundChoices([{ index: 0, delta, finish_reason: null }])?.[0]?.delta);
}

/** The calls of a stream, joined by their index: `[id, name, arguments]`. */
function callsOf(...pieces: readonly (readonly object[])[]): unknown[] {
  const joined = joinAnswer();
  for (const delta of sound(...pieces.map((tool_calls) => ({ tool_calls }))))
    joined.add(chunk([{ index: 0, delta }]));
  return joined.answer().calls.map(({ id, function: { name, arguments: given } }) => [id, name, given]);
}

const begun = { index: 0, id: 'x', type: 'function', function: { name: 'add', arguments: '{"a":' } };
const rest = '1}';
const ONE = [['x', 'add', '{"a":1}']];

const FURTHER: Readonly<Record<string, object>> = {
  'as OpenAI writes it': { index: 0, function: { arguments: rest } },
  'with null for id and name': { index: 0, id: null, function: { name: null, arguments: rest } },
  'with empty id and name': { index: 0, id: '', type: 'function', function: { name: '', arguments: rest } },
  'with id and name again': {
    index: 0,
    id: 'x',
    type: 'function',
    function: { name: 'add', arguments: rest },
  },
  'with the name again': { index: 0, function: { name: 'add', arguments: rest } },
  'with another id': { index: 0, id: 'y', function: { arguments: rest } },
};

for (const [form, piece] of Object.entries(FURTHER)) {
  test(`a further piece of a call ${form} belongs to the call`, (t) => {
    t.deepEqual(callsOf([begun], [piece]), ONE);
    const [, further] = sound({ tool_calls: [begun] }, { tool_calls: [piece] });
    const { id, function: called } = further!.tool_calls![0] as ToolCallDelta;
    t.deepEqual([id, called?.name], [undefined, undefined], 'readers take each id and name as a new one');
  });
}

for (const none of [null, undefined, {}, { name: 'add', arguments: null }]) {
  test(`a first piece with the function ${JSON.stringify(none)} begins a call`, (t) => {
    const pieces = [{ index: 0, id: 'x', function: none }];
    const named = { index: 0, function: { name: 'add', arguments: '{"a":1}' } };
    t.deepEqual(callsOf(pieces, [named]), ONE);
  });
}

const add = (a: number, head: object = {}) => ({
  ...head,
  function: { name: 'add', arguments: `{"a":${a}}` },
});

const SEVERAL: Readonly<Record<string, readonly object[]>> = {
  'by their index, without ids': [add(1, { index: 0 }), add(2, { index: 1 })],
  'that all have the index 0, and no id': [add(1, { index: 0, id: '' }), add(2, { index: 0, id: '' })],
  'without index and id': [add(1), add(2)],
};

for (const [form, calls] of Object.entries(SEVERAL)) {
  test(`several calls ${form} are several calls, each with an id`, (t) => {
    const expected = [
      ['made-1', 'add', '{"a":1}'],
      ['made-2', 'add', '{"a":2}'],
    ];
    t.deepEqual(callsOf(calls), expected);
    t.deepEqual(callsOf(...calls.map((call) => [call])), expected);
  });
}

test('calls that are told apart by their ids alone get an index of their own', (t) => {
  const [delta] = sound({ tool_calls: [add(1, { id: 'x' }), add(2, { id: 'y' })] });
  t.deepEqual(
    delta?.tool_calls?.map(({ index, id }) => [index, id]),
    [
      [0, 'x'],
      [1, 'y'],
    ],
  );
});

test('of two calls with one id the second gets another', (t) => {
  const both = [add(1, { index: 0, id: 'x' }), add(2, { index: 1, id: 'x' })];
  t.deepEqual(callsOf(both), [
    ['x', 'add', '{"a":1}'],
    ['made-1', 'add', '{"a":2}'],
  ]);
  const message = soundMessage({ content: null, tool_calls: both }, ids());
  t.deepEqual(
    message?.tool_calls?.map(({ id }) => id),
    ['x', 'made-1'],
  );
});

test('arguments that are no text become their JSON', (t) => {
  const call = { index: 0, id: 'x', function: { name: 'add', arguments: { a: 1 } } };
  t.deepEqual(callsOf([call]), ONE);
  const message = soundMessage({ content: null, tool_calls: [call] }, ids());
  t.is(message?.tool_calls?.[0]?.function.arguments, '{"a":1}');
});

test('a call of a message has texts, whatever the server left out', (t) => {
  const tool_calls = [{ function: { name: 'add', arguments: null } }, { id: 'c', custom: { input: 'a' } }];
  t.deepEqual(soundMessage({ content: 'a', tool_calls }, ids())?.tool_calls as unknown, [
    { id: 'made-1', type: 'function', function: { name: 'add', arguments: '' } },
    { id: 'c', custom: { input: 'a' } },
  ]);
});

for (const type of [undefined, null, '']) {
  test(`a call with the type ${JSON.stringify(type)} is one of a function, and no further piece says so`, (t) => {
    const call = { index: 0, id: 'x', type, function: { name: 'add', arguments: '{}' } };
    const more = { index: 0, function: { arguments: ' ' } };
    const types = sound({ tool_calls: [call] }, { tool_calls: [more] }).map(
      (delta) => delta?.tool_calls?.[0]?.type,
    );
    t.deepEqual(types, ['function', undefined]);
    t.is(soundMessage({ content: null, tool_calls: [call] }, ids())?.tool_calls?.[0]?.type, 'function');
  });
}

test('a call in a form of its own keeps its type, or has none', (t) => {
  for (const call of [
    { id: 'c', custom: {} },
    { id: 'c', type: 'custom', custom: {} },
  ]) {
    t.deepEqual(sound({ tool_calls: [call] })[0]?.tool_calls as unknown, [{ index: 0, ...call }]);
    t.deepEqual(soundMessage({ content: null, tool_calls: [call] }, ids())?.tool_calls as unknown, [call]);
  }
});

test('a choice without an index is the first', (t) => {
  for (const index of [undefined, null]) {
    const [choice] = createSoundChoices(ids())([{ index, delta: { content: 'a' } }]) ?? [];
    t.is(choice?.index, 0);
  }
});

const PARTS = [
  { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
  { type: 'text', text: 'Yes' },
  { type: 'text', text: ', no' },
];

test('content in parts is text, and its thoughts are reasoning', (t) => {
  const expected = { content: 'Yes, no', reasoning_content: 'Hm.' };
  t.deepEqual(sound({ content: PARTS }), [expected]);
  t.deepEqual(soundMessage({ content: PARTS }, ids()) as unknown, { role: 'assistant', ...expected });
});

for (const message of [{ content: 5 }, { content: {} }, { tool_calls: 'a' }, { tool_calls: [null] }]) {
  test(`a message with ${JSON.stringify(message)} is in no known form`, (t) => {
    t.is(soundMessage(message, ids()), undefined);
    t.deepEqual(sound(message), [undefined]);
  });
}

test('a message is the assistant’s, whatever its server calls it', (t) => {
  for (const role of [undefined, null, 'model'])
    t.like(soundMessage({ role, content: 'a' }, ids()), { role: 'assistant', content: 'a' });
});

test('a refusal that is no text is none', (t) => {
  t.deepEqual(sound({ content: 'a', refusal: { b: 1 } }), [{ content: 'a', refusal: null }]);
});

test('choices beyond the first are left out, and sound ones stay the same', (t) => {
  const soundChoices = createSoundChoices(ids());
  const first = { index: 0, delta: { content: 'a' }, finish_reason: null };
  const choices = [first];
  t.is(soundChoices(choices) as unknown, choices);
  t.deepEqual(soundChoices([{ index: 1, delta: { content: 'b' } }, first]) as unknown, [first]);
});

test('an answer with thousands of calls is given up', (t) => {
  const many = Array.from({ length: 1025 }, (_, index) => ({ index, function: { name: 'a' } }));
  t.deepEqual(sound({ tool_calls: many }), [undefined]);
});
