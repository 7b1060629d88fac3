import test from 'ava';
import contentDisposition from 'content-disposition';
import fc from 'fast-check';
import { displayName } from '../../../../../plugins/runtime/services/files/files.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';

test('a name is kept as far as it can be shown', (t) => {
  for (const [given, shown] of [
    ['report.pdf', 'report.pdf'],
    ['C:\\temp\\ä 日本 👨‍👩‍👧.txt', 'ä 日本 👨‍👩‍👧.txt'],
    ['../../etc/passwd', 'passwd'],
    ['a\r\nb\0c', 'a  b c'],
    ['txt\u202eexe.scr', 'txtexe.scr'],
    ['half \ud800', 'half \ufffd'],
    [' .. ', 'file'],
    ['a/', 'file'],
    ['', 'file'],
    [undefined, 'file'],
    ['🍵'.repeat(300), '🍵'.repeat(255)],
  ] as const)
    t.is(displayName(given), shown);
});

test('any name becomes one that databases and headers keep', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint, maxLength: 400 }), (given) => {
      const name = displayName(given);
      t.notRegex(name, /[\p{Cc}\p{Cs}/\\]/u);
      t.true([...name].length >= 1 && [...name].length <= 255);
      t.is(displayName(name), name);
      t.regex(contentDisposition(name, { fallback: 'x' }), /^[ -~]+$/);
    }),
  );
});
