import test from 'ava';
import fc from 'fast-check';
import { selectHistory } from '../../../../../plugins/records/services/sessions/turn-history.ts';

const PLENTY = { tokens: 1_000_000, bytes: 1_000_000 };

/** Messages `turn:role`, oldest first, of ten tokens and a hundred bytes each; the result is newest first. */
function outlines(...messages: readonly string[]) {
  return messages
    .map((text, index) => {
      const [turn, role] = text.split(':') as [string, string];
      return { seq: index + 1, turn: Number(turn), role, tokenCount: 10, bytes: 100 };
    })
    .reverse();
}

const PLAIN = ['1:user', '1:assistant', '2:user', '2:assistant', '3:user', '3:assistant'];
const TOOLS = [
  '1:user',
  '1:assistant',
  '2:user',
  '2:assistant',
  '3:tool',
  '3:assistant',
  '4:user',
  '4:assistant',
];

const CASES: readonly [string, readonly string[], boolean, Partial<typeof PLENTY>, number | undefined][] = [
  ['nothing', [], true, {}, undefined],
  ['all that fits', PLAIN, true, {}, 1],
  ['exactly what fits', PLAIN, true, { tokens: 60 }, 1],
  ['whole turns within the tokens', PLAIN, true, { tokens: 59 }, 3],
  ['whole turns within the bytes', PLAIN, true, { bytes: 300 }, 5],
  ['no part of a turn', PLAIN, true, { tokens: 19 }, undefined],
  ['not the oldest turn where it may be cut off', PLAIN, false, {}, 3],
  ['calls together with their results in the next turn', TOOLS, true, { tokens: 60 }, 3],
  ['neither of both where they do not fit together', TOOLS, true, { tokens: 50 }, 7],
  ['no results without a call', ['1:tool', '1:assistant', '2:user', '2:assistant'], true, {}, 3],
];
for (const [title, messages, isComplete, budget, from] of CASES) {
  test(`history is ${title}`, (t) => {
    t.is(selectHistory(outlines(...messages), isComplete, { ...PLENTY, ...budget }), from);
  });
}

test('history begins a turn, with no result of a tool, keeps its budget, and could not be longer', (t) => {
  const message = fc.record({
    isNewTurn: fc.boolean(),
    role: fc.constantFrom('user', 'assistant', 'tool'),
    tokenCount: fc.nat(20),
    bytes: fc.nat(200),
  });
  const inputs = [fc.array(message, { maxLength: 30 }), fc.boolean(), fc.nat(300), fc.nat(3_000)] as const;
  const property = fc.property(...inputs, (messages, isComplete, tokens, bytes) => {
    let turn = 0;
    const oldestFirst = messages.map(({ isNewTurn, ...rest }, index) => {
      if (isNewTurn) turn += 1;
      return { ...rest, turn, seq: index + 1 };
    });
    const sum = (from: number, what: 'tokenCount' | 'bytes') =>
      oldestFirst.slice(from).reduce((total, row) => total + row[what], 0);
    const mayBegin = oldestFirst
      .map((row, index) => ({ row, index }))
      .filter(({ row, index }) => (index === 0 ? isComplete : oldestFirst[index - 1]!.turn !== row.turn))
      .filter(({ row }) => row.role !== 'tool')
      .filter(({ index }) => sum(index, 'tokenCount') <= tokens && sum(index, 'bytes') <= bytes);
    const expected = mayBegin[0]?.row.seq;
    return selectHistory(oldestFirst.toReversed(), isComplete, { tokens, bytes }) === expected;
  });
  fc.assert(property, { numRuns: 1_000 });
  t.pass();
});
