import test from 'ava';
import { createChunkTranslator } from '../../../../../../plugins/agent-engine/services/models/ai-sdk/chunk-translator.ts';

test('what a provider wants back is sent once, in a piece that clients of OpenAI can read', (t) => {
  const call = { toolCallId: 'c', toolName: 'clock', input: '{"a":1}' };
  const [early, late] = [{ google: { thoughtSignature: 'early' } }, { other: { signature: 'late' } }];
  const begin = { type: 'tool-input-start', id: 'c', toolName: 'clock' } as const;
  const go = { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' } as const;
  const begun = { index: 0, id: 'c', type: 'function', function: { name: 'clock', arguments: '' } };
  const first = { ...begun, extra_content: { google: { thought_signature: 'early' } } };
  const further = { index: 0, function: { arguments: '{"a":1}' } };
  const end = (providerMetadata: typeof late) => ({ type: 'tool-call', ...call, providerMetadata }) as const;
  for (const [parts, pieces] of [
    [
      [{ ...begin, providerMetadata: early }, go, end(late)],
      [first, further],
    ],
    [
      [begin, go, end(late)],
      [begun, further, { index: 0, function: { arguments: '' }, extra_content: late }],
    ],
    [
      [begin, end(late)],
      [begun, { ...further, extra_content: late }],
    ],
  ] as const) {
    const { push } = createChunkTranslator({ id: 'x', created: 1, model: 'm' }, () => 'made');
    const chunks = parts.flatMap((part) => push(part));
    t.deepEqual(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []) as unknown, pieces);
  }
});
