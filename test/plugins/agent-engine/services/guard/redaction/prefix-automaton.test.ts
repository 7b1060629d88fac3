import test from 'ava';
import {
  chars,
  UNITS,
  unitOf,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/char-class.ts';
import {
  begins,
  behind,
  type Pattern,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/pattern.ts';
import {
  type PrefixAutomaton,
  prefixAutomaton,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/prefix-automaton.ts';

const any = (text: string) => [...text].map((char) => chars(char));
const PATTERNS: readonly Pattern[] = [
  begins('word', any('sk-')),
  begins('token', any('sk-')),
  begins('anywhere', any('kk-')),
  behind('anywhere', 'Key', []),
  begins('word', [chars('0-9'), chars('0-9'), chars('0-9')]),
];
const automaton = prefixAutomaton(PATTERNS);

function walk({ initial, next }: PrefixAutomaton, text: string): number[] {
  const states: number[] = [];
  for (let index = 0, state = initial; index < text.length; index += 1) {
    state = next[state * UNITS + unitOf(text.charCodeAt(index))]!;
    states.push(state);
  }
  return states;
}

/** Each prefix that ends in the text, as `position:pattern`. */
function hits(text: string): string[] {
  return walk(automaton, text).flatMap((state, index) =>
    state < automaton.firstHit
      ? []
      : automaton.hits[state - automaton.firstHit]!.map((order) => `${index + 1}:${order}`),
  );
}

const held = (text: string) => automaton.held[walk(automaton, text).at(-1) ?? automaton.initial];

test('prefixes are found where they end, however they overlap', (t) => {
  t.deepEqual(hits('sk-'), ['3:0', '3:1']);
  t.deepEqual(hits('skk-'), ['4:2']);
  t.deepEqual(hits('kkk- sk-'), ['4:2', '8:0', '8:1']);
  t.deepEqual(hits('aKEYkey'), ['4:3', '7:3']);
  t.deepEqual(hits('x 1234'), ['5:4']);
  t.deepEqual(hits('s k-'), []);
});

test('a boundary says what may stand before a prefix', (t) => {
  const before: readonly (readonly [text: string, orders: readonly number[]])[] = [
    ['', [0, 1]],
    [' ', [0, 1]],
    ['é', [0, 1]],
    ['=', [0, 1]],
    ['a', []],
    ['9', []],
    ['-', [0]],
    ['_', [0]],
    ['\\', [0, 1]],
    ['\\n', [0, 1]],
    ['x\\t', [0, 1]],
    ['\\x', []],
  ];
  for (const [lead, orders] of before) {
    t.deepEqual(
      hits(`${lead}sk-`).map((hit) => Number(hit.split(':')[1])),
      orders,
      JSON.stringify(lead),
    );
  }
});

test('what could become a secret is held, what only stands before one is not', (t) => {
  t.deepEqual(['', 's', 'as', '-s', 'sk', 'sk-', 'ke', 'key', '12', 'x12', 'k', 'skk', ' skx'].map(held), [
    ...[0, 1, 0, 1, 2, 0, 0, 0, 2, 0, 1, 2, 0],
  ]);
});
