import test from 'ava';
import fc from 'fast-check';
import {
  type AnswerPart,
  type ChatChunk,
  type ChatGuard,
  type OutputGuard,
  replaceMatches,
} from '../../../../../../plugins/agent-engine/contract.ts';
import { guardChat } from '../../../../../../plugins/agent-engine/services/guard/chat/guard-chat.ts';
import { MAX_HELD } from '../../../../../../plugins/agent-engine/services/guard/chat/guard-text.ts';

const chat = {
  tenantId: 't',
  userId: 'u',
  identityId: 'i',
  agent: undefined,
  model: 'm',
  sessionId: undefined,
  requestId: 'r',
  signal: new AbortController().signal,
};

/** A guard of answers, reasoning and calls, with a look of its own for each text. */
function guard(
  name: string,
  look: (part: AnswerPart) => OutputGuard,
  parts: Partial<ChatGuard> = {},
): ChatGuard {
  return { name, open: () => ({ output: look }), ...parts };
}

const fruit = (parts: Partial<ChatGuard> = {}) =>
  guard('acme.fruit', () => replaceMatches(/pineapple|🍍+|päron/, '[fruit]', 9), parts);
const number = (parts: Partial<ChatGuard> = {}) =>
  guard('acme.number', () => replaceMatches(/\d{4}-\d{4}/, '[number]', 9), { order: 1, ...parts });

type Delta = ChatChunk['choices'][number]['delta'];

async function* chunksOf(deltas: readonly Delta[]): AsyncGenerator<ChatChunk> {
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' } as const;
  for (const delta of deltas) yield { ...head, choices: [{ index: 0, delta, finish_reason: null }] };
  yield { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
}

/** What a client has of the answer in the end. */
async function received(guards: readonly ChatGuard[], deltas: readonly Delta[]) {
  const events: string[] = [];
  const guarding = (await guardChat(guards, chat, (name, _, event) => events.push(`${name} ${event}`)))!;
  const got = { content: '', reasoning_content: '', call: '', finish: '', largest: 0 };
  for await (const { choices } of guarding.stream(chunksOf(deltas)))
    for (const { delta, finish_reason } of choices) {
      const { content, reasoning_content: reasoning } = delta as {
        content?: string;
        reasoning_content?: string;
      };
      got.content += content ?? '';
      got.reasoning_content += reasoning ?? '';
      for (const call of delta.tool_calls ?? []) got.call += call.function?.arguments ?? '';
      got.finish = finish_reason ?? got.finish;
      got.largest = Math.max(got.largest, content?.length ?? 0);
    }
  return { ...got, events };
}

/** A text cut at these places, which may fall between the halves of a character. */
function cut(text: string, places: readonly number[]): readonly string[] {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].sort((one, other) => one - other);
  return [...at, text.length].map((end, index) => text.slice(index === 0 ? 0 : at[index - 1], end));
}

/** Texts that hold whole matches, beginnings of matches, matches side by side, and characters of two halves. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'pineapple',
        'pine',
        'apple',
        'pineapplepineapple',
        'päron',
        '1234-5678',
        '1234-',
        '12345-67890',
        '🍍',
        '🙂',
      ),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));
const places = fc.array(fc.nat(), { maxLength: 30 });

test('what guards make of a text is the same however it is cut into pieces', async (t) => {
  const redacted = (whole: string) =>
    whole.replaceAll(/pineapple|🍍+|päron/g, '[fruit]').replaceAll(/\d{4}-\d{4}/g, '[number]');
  const guards = [fruit(), number()];
  await fc.assert(
    fc.asyncProperty(
      text,
      places,
      fc.constantFrom('content', 'reasoning_content', 'call'),
      async (whole, at, part) => {
        const deltas = cut(whole, at).map(
          (piece): Delta =>
            part === 'call'
              ? { tool_calls: [{ index: 0, function: { arguments: piece } }] }
              : ({ [part]: piece } as Delta),
        );
        // Runs of 🍍 are longer than what is held back: they may be told in two, never shown.
        const one = (seen: string) => seen.replaceAll(/(?:\[fruit\])+/g, '[fruit]');
        const got = await received(guards, deltas);
        t.is(one(got[part as 'content']), one(redacted(whole)));
        t.is(got.finish, 'stop');
      },
    ),
    { numRuns: 500 },
  );
});

test('a whole answer is guarded in each of its texts, and its calls stay calls', async (t) => {
  const redacted = (whole: string) =>
    whole.replaceAll(/pineapple|päron/g, '[fruit]').replaceAll(/\d{4}-\d{4}/g, '[number]');
  const fruits = guard('acme.fruit', () => replaceMatches(/pineapple|päron/, '[fruit]', 9));
  const answer = fc.record({ content: text, reasoning: text, given: fc.array(text, { maxLength: 3 }) });
  await fc.assert(
    fc.asyncProperty(answer, async ({ content, reasoning, given }) => {
      const tool_calls = given.map((each, index) => ({
        id: `call_${index}`,
        type: 'function' as const,
        function: { name: `tool_${index}`, arguments: each },
        ...(index === 1 && { extra_content: { google: { thought_signature: 'abc' } } }),
      }));
      const message = {
        role: 'assistant' as const,
        content,
        reasoning_content: reasoning,
        ...(given.length > 0 && { tool_calls }),
      };
      const head = { id: 'c', object: 'chat.completion', created: 1, model: 'm' } as const;
      const choice = { index: 0, message, finish_reason: given.length > 0 ? 'tool_calls' : 'stop' } as const;
      const guarding = (await guardChat([fruits, number()], chat, () => {}))!;
      const guarded = await guarding.completion({ ...head, choices: [choice] });
      const calls = tool_calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: redacted(call.function.arguments) },
      }));
      t.deepEqual(guarded, {
        ...head,
        choices: [
          {
            ...choice,
            message: {
              ...message,
              content: redacted(content),
              reasoning_content: redacted(reasoning),
              ...(given.length > 0 && { tool_calls: calls }),
            },
          },
        ],
      });
    }),
    { numRuns: 200 },
  );
});

test('a whole answer that a guard ends within a call has no call', async (t) => {
  const ending = guard('acme.ending', (part) => () => (part === 'tool_call' ? { end: '' } : undefined));
  const guarding = (await guardChat([ending], chat, () => {}))!;
  const call = { id: 'call_0', type: 'function', function: { name: 'pay', arguments: '{"sum":1}' } } as const;
  const guarded = await guarding.completion({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: [call] },
        finish_reason: 'tool_calls',
      },
    ],
  });
  t.deepEqual(guarded.choices, [
    { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' },
  ]);
});

test('a call that no guard can look at does not leave, whole or in pieces', async (t) => {
  const own = { index: 0, id: 'c', type: 'custom', custom: { input: 'pine' } };
  const pieces = [own, { index: 0, custom: { input: 'apple' } }].map((call) => ({ tool_calls: [call] }));
  const guarding = (await guardChat([fruit()], chat, () => {}))!;
  const left: Delta[] = [];
  for await (const { choices } of guarding.stream(chunksOf(pieces as unknown as readonly Delta[])))
    left.push(...choices.map(({ delta }) => delta));
  t.deepEqual(left, [{}]);
  const message = { role: 'assistant', content: null, tool_calls: [own as never] } as const;
  const { choices } = await guarding.completion({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
  });
  t.is(choices[0]?.message.tool_calls, undefined);
});

test('so it is for a guard that gathers, and for one that looks at the whole answer at its end', async (t) => {
  const whole: OutputGuard = (shown, { isEnd }) =>
    isEnd ? { replace: shown.replaceAll(/pine(?:apple)+/g, '[fruit]') } : { hold: shown.length };
  await fc.assert(
    fc.asyncProperty(text, places, fc.integer({ min: 0, max: 40 }), async (said, at, gather) => {
      const deltas = cut(said, at).map((content): Delta => ({ content }));
      const gathered = await received([fruit({ gather })], deltas);
      t.is(
        gathered.content.replaceAll(/(?:\[fruit\])+/g, '[fruit]'),
        said.replaceAll(/pineapple|🍍+|päron/g, '[fruit]').replaceAll(/(?:\[fruit\])+/g, '[fruit]'),
      );
      const { content } = await received([guard('acme.whole', () => whole)], deltas);
      t.is(content, said.replaceAll(/pine(?:apple)+/g, '[fruit]'));
    }),
    { numRuns: 300 },
  );
});

test('an answer that a guard ends is the same however it is cut, and nothing of what follows is in it', async (t) => {
  const stop: OutputGuard = (shown, { isEnd }) => {
    const found = shown.indexOf('STOP');
    if (found >= 0) return { end: `${shown.slice(0, found)}.` };
    return isEnd ? undefined : { hold: Math.min(3, shown.length) };
  };
  await fc.assert(
    fc.asyncProperty(text, text, places, async (before, after, at) => {
      const deltas = cut(`${before}STOP${after}`, at).map((content): Delta => ({ content }));
      const { content, finish } = await received([guard('acme.stop', () => stop)], deltas);
      t.deepEqual([content, finish], [`${before}.`, 'content_filter']);
    }),
  );
});

const sizes: readonly (readonly [string, readonly number[]])[] = [
  ['in one piece', [3 * MAX_HELD]],
  ['in pieces of 1,000 characters', Array(200).fill(1_000)],
  ['in two pieces around the bound', [MAX_HELD, 1]],
];

for (const [how, lengths] of sizes) {
  const deltas = lengths.map((length): Delta => ({ content: 'x'.repeat(length) }));
  const all = lengths.reduce((sum, length) => sum + length, 0);
  const greedy: OutputGuard = (shown, { isEnd }) => (isEnd ? undefined : { hold: shown.length });

  test(`a guard that holds more than 64 Ki characters refuses the answer: ${how}`, async (t) => {
    const failing = received([guard('acme.greedy', () => greedy)], deltas);
    await t.throwsAsync(failing, { code: 'guard.failed', message: /acme\.greedy/ });
  });

  test(`with onFailure pass it is left out, and all of the text leaves, through the other guards: ${how}`, async (t) => {
    const guards = [guard('acme.greedy', () => greedy, { onFailure: 'pass' }), fruit({ order: 1 })];
    const { content, events } = await received(guards, [...deltas, { content: 'pineapple' }]);
    t.is(content, `${'x'.repeat(all)}[fruit]`);
    t.deepEqual(
      events.filter((event) => event.startsWith('acme.greedy')),
      ['acme.greedy failed'],
    );
  });

  test(`a guard that gathers is asked before more than 64 Ki characters wait: ${how}`, async (t) => {
    const shown: number[] = [];
    const counting: OutputGuard = (seen) => void shown.push(seen.length);
    const gathering = guard('acme.all', () => counting, { gather: 10 * MAX_HELD });
    const { content, largest } = await received([gathering], deltas);
    t.is(content.length, all);
    t.true(Math.max(...shown) <= 3 * MAX_HELD, String(shown));
    t.true(largest <= 3 * MAX_HELD);
  });
}

test('exactly 64 Ki characters may be held', async (t) => {
  const holding: OutputGuard = (shown, { isEnd }) =>
    isEnd ? undefined : { hold: Math.min(shown.length, MAX_HELD) };
  const { content, finish } = await received(
    [guard('acme.most', () => holding)],
    [{ content: 'x'.repeat(MAX_HELD) }, { content: 'y'.repeat(MAX_HELD) }, { content: 'z' }],
  );
  t.is(content, `${'x'.repeat(MAX_HELD)}${'y'.repeat(MAX_HELD)}z`);
  t.is(finish, 'stop');
});
