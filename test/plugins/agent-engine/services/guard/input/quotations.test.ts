import test from 'ava';
import fc from 'fast-check';
import { findQuotations } from '../../../../../../plugins/agent-engine/services/guard/input/quotations.ts';

for (const { text, quoted } of [
  { text: 'he said "go away" twice', quoted: ['"go away"'] },
  { text: '„so“ and «ça» and 「はい」', quoted: ['„so“', '«ça»', '「はい」'] },
  { text: "don't touch 'this thing', it's hot", quoted: ["'this thing'"] },
  { text: 'use `rm`\n```\ncode "x"\n```\nend', quoted: ['`rm`', '```\ncode "x"\n```'] },
  { text: 'a\n> quoted line\nb', quoted: ['> quoted line'] },
  { text: 'const P = /ignore all/i; https://a.b/c', quoted: ['/ignore all/'] },
  { text: 'an "unclosed one', quoted: [] },
]) {
  test(`quotations of ${JSON.stringify(text)}`, (t) =>
    t.deepEqual(
      findQuotations(text).map(({ start, end }) => text.slice(start, end)),
      quoted,
    ));
}

test('spans are in order and never overlap', (t) => {
  const hostile = fc
    .array(fc.constantFrom('"', "'", '`', '```', '\n', '>', 'a', ' ', '/', '«', '»'))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(hostile, (text) =>
      findQuotations(text).every(
        ({ start, end }, index, all) =>
          start < end && end <= text.length && start >= (all[index - 1]?.end ?? 0),
      ),
    ),
  );
  t.pass();
});
