import test from 'ava';
import { OTHER } from '../../../foundation/redaction/char-class.ts';
import { escapeAt } from '../../../foundation/redaction/escapes.ts';

/** What an escape stands for, and how much of the text it takes. */
const ESCAPES: readonly (readonly [text: string, stands: string, length: number])[] = [
  ['\\n', '\n', 2],
  ['\\\\\\\\nx', '\n', 5],
  ['\\"', '"', 2],
  ['\\/', '/', 2],
  ['\\_', '_', 2],
  ['\\u000ax', '\n', 6],
  ['\\\\u002D', '-', 7],
  ['\\x2d', '-', 4],
  ['%2f', '/', 3],
  ['%2F1', '/', 3],
  ['%252F', '/', 5],
  ['%2525252F', '/', 9],
  ['%5Cn', '\n', 4],
  ['%5c%22', '"', 6],
  ['%255Cn', '\n', 6],
  ['%5C%6e', '\n', 6],
  ['\\u005cn', '\n', 7],
  ['%5C', '\\', 3],
  ['\\w', '\\', 1],
  ['\\u00', '\\', 1],
  ['\\ ', '\\', 1],
  [`${'\\'.repeat(16)}n`, '\\', 15],
  ['%', '%', 1],
  ['%zz', '%', 1],
  ['%2', '%', 1],
  ['%25', '%', 3],
];

for (const [text, stands, length] of ESCAPES) {
  test(`${text} begins with ${length} characters for ${JSON.stringify(stands)}`, (t) => {
    const found = escapeAt(text, 0, true)!;
    t.is(String.fromCharCode(found.unit), stands);
    t.is(found.length, length);
  });
}

test('what is not ASCII is one character like any other of its kind', (t) => {
  for (const text of ['\\u5bc6', '%E5', '\\x80']) t.is(escapeAt(text, 0, true)!.unit, OTHER, text);
});

test('an escape whose end may follow is waited for, and no other', (t) => {
  for (const text of [
    '\\',
    '\\\\\\',
    '\\u',
    '\\u00a',
    '\\x1',
    '%',
    '%2',
    '%25',
    '%252',
    '%5C',
    '%5C%6',
    '\\u005c',
  ])
    t.is(escapeAt(text, 0, false), undefined, text);
  for (const text of [
    '\\n',
    '\\u000a',
    '\\w',
    '%2F',
    '%z',
    '% ',
    '\\\\"',
    '%41',
    '\\x4a',
    `${'\\'.repeat(15)}n`,
  ])
    t.truthy(escapeAt(text, 0, false), text);
});

test('an escape says whether it is URL-encoded, and which letter it has', (t) => {
  t.like(escapeAt('%5Cn', 0, true), { isPercent: true, letter: 0x6e });
  t.like(escapeAt('\\n', 0, true), { isPercent: false, letter: 0x6e });
  t.like(escapeAt('%2F', 0, true), { isPercent: true, letter: undefined });
  t.like(escapeAt('%', 0, true), { isPercent: false });
});
