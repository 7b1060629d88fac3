import test from 'ava';
import fc from 'fast-check';
import {
  anyExcept,
  type CharClass,
  caseless,
  chars,
  except,
  literal,
  plus,
  UNITS,
  unitOf,
  visibleExcept,
} from '../../../foundation/redaction/char-class.ts';
import {
  begins,
  behind,
  count,
  failureTable,
  isNoPlaceholder,
  looksRandom,
  newTally,
  type Pattern,
} from '../../../foundation/redaction/pattern.ts';
import { type PrefixAutomaton, prefixAutomaton } from '../../../foundation/redaction/prefix-automaton.ts';

/** Those of the characters that are in the class. */
function members(set: CharClass, text: string): string {
  return [...text].filter((char) => set[unitOf(char.charCodeAt(0))] === 1).join('');
}

const ALL = 'aczAZ059-_.@ \n\u0000é密';

test('a class holds what its list says, ranges and a last hyphen among it', (t) => {
  t.is(members(chars('a-c5-'), ALL), 'ac5-');
  t.is(members(plus(chars('a-z'), '_-'), ALL), 'acz-_');
  t.is(members(except(chars('a-z'), 'cz'), ALL), 'a');
  t.is(members(chars(''), ALL), '');
});

test('everything but a list reaches beyond ASCII, and is visible where it should be', (t) => {
  t.is(members(visibleExcept('@a'), ALL), 'czAZ059-_.é密');
  t.is(members(anyExcept('a-z'), ALL), 'AZ059-_.@ \n\u0000é密');
});

test('a text is a class for each of its characters, of one case or of both', (t) => {
  t.deepEqual(
    literal('a-').map((set) => members(set, 'aA-_')),
    ['a', '-'],
  );
  t.deepEqual(
    caseless('a-').map((set) => members(set, 'aA-_')),
    ['aA', '-'],
  );
});

function tallyOf(text: string) {
  const tally = newTally();
  for (const char of text) count(tally, char.charCodeAt(0));
  return tally;
}

test('a tally counts digits, cases and the changes between letters and digits', (t) => {
  t.deepEqual(tallyOf('aB3-4c'), {
    length: 6,
    digits: 2,
    hasUpper: true,
    hasLower: true,
    changes: 2,
    turns: 1,
    last: 'lower',
  });
});

test('letters and digits in turn look random, names do not', (t) => {
  for (const text of ['Xk9dk20Dkq93kd02kdk1', '1234567890abcdef1234', '9fceb02a4c', 'abcd1234efgh5678ijkl'])
    t.true(looksRandom(tallyOf(text)), text);
  for (const text of [
    'process.env.API_KEY_V2',
    'correct-horse-battery',
    'oauth2ClientSecret',
    '20240115-1200',
    '',
  ])
    t.false(looksRandom(tallyOf(text)), text);
});

test('a placeholder has one case and no digits, and is short', (t) => {
  for (const text of ['token', 'YOUR_ACCESS_TOKEN', 'your-token-here'])
    t.false(isNoPlaceholder(tallyOf(text)), text);
  for (const text of ['dXNlcjpwYXNz', 'token1', 'a'.repeat(32)]) t.true(isNoPlaceholder(tallyOf(text)), text);
});

test('after n characters, the longest beginning that is also their end is what still stands', (t) => {
  t.deepEqual(failureTable('-----END'), [0, 0, 1, 2, 3, 4, 0, 0, 0]);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 }), (text) =>
      failureTable(text).every((kept, length) => {
        const read = text.slice(0, length);
        const borders = Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
        return kept === Math.max(0, ...borders.filter((border) => read.endsWith(text.slice(0, border))));
      }),
    ),
  );
});

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
  t.deepEqual(
    ['', 's', 'as', '-s', 'sk', 'sk-', 'ke', 'key', '12', 'x12', 'k', 'skk', ' skx'].map(held),
    [0, 1, 0, 1, 2, 0, 0, 0, 2, 0, 1, 2, 0],
  );
});
