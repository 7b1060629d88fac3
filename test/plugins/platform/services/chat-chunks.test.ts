import test from 'ava';
import type { ChatChunk, ChatDelta, Usage } from '../../../../plugins/agent-engine/contract.ts';
import { createChunkRewriter } from '../../../../plugins/platform/services/chat-chunks.ts';

const HEAD = { id: 'chatcmpl-ours', created: 7, model: 'default' };
const USAGE: Usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

function chunk(delta: ChatDelta, extra: Partial<ChatChunk> = {}, finish: string | null = null): ChatChunk {
  const common = { id: 'theirs', object: 'chat.completion.chunk' as const, created: 1, model: 'gpt-x-2030' };
  return { ...common, choices: [{ index: 0, delta, finish_reason: finish }], ...extra };
}

function rewrite(chunks: readonly ChatChunk[], includeUsage = false) {
  const rewriter = createChunkRewriter(HEAD, includeUsage);
  const texts = [...chunks.map(rewriter.next), rewriter.end()];
  return texts.filter((text) => text !== undefined).map((text) => JSON.parse(text));
}

test('chunks carry the id, time and model of the answer, and of the provider only what it says', (t) => {
  const [first] = rewrite([
    chunk({ role: 'assistant', content: 'Hi' }, { provider: 'x', system_fingerprint: 'fp_1' }),
  ]);
  t.deepEqual(first, {
    id: 'chatcmpl-ours',
    object: 'chat.completion.chunk',
    created: 7,
    model: 'default',
    system_fingerprint: 'fp_1',
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }],
  });
});

test('the first delta gets the role that a provider leaves out, and no other delta does', (t) => {
  const [first, second] = rewrite([chunk({ content: 'a' }), chunk({ content: 'b' })]);
  t.deepEqual(first.choices[0].delta, { role: 'assistant', content: 'a' });
  t.deepEqual(second.choices[0].delta, { content: 'b' });
});

test("a provider's notices without choices are not handed on", (t) => {
  const chunks = [chunk({}, { choices: [], prompt_filter_results: [] }), chunk({ content: 'a' })];
  t.is(rewrite(chunks).length, 1);
});

for (const [title, chunks] of [
  ['in a chunk of its own', [chunk({ content: 'a' }, {}, 'stop'), chunk({}, { choices: [], usage: USAGE })]],
  ['with the last chunk', [chunk({ content: 'a' }, { usage: USAGE }, 'stop')]],
  [
    'as a running total',
    [chunk({ content: 'a' }, { usage: { ...USAGE, total_tokens: 1 } }), chunk({}, { usage: USAGE }, 'stop')],
  ],
] as const) {
  test(`usage that comes ${title} is told last and once, where it was asked for`, (t) => {
    const asked = rewrite(chunks, true);
    t.deepEqual(asked.at(-1).usage, USAGE);
    t.deepEqual(asked.at(-1).choices, []);
    t.true(asked.slice(0, -1).every((told) => told.usage === null));
    t.is(asked.at(-2).choices[0].finish_reason, 'stop');
    t.true(rewrite(chunks, false).every((told) => !('usage' in told) && told.choices.length === 1));
  });
}

test('usage that the provider does not tell is not made up', (t) => {
  t.is(rewrite([chunk({ content: 'a' }, {}, 'stop')], true).length, 1);
});
