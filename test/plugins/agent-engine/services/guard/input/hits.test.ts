import test from 'ava';
import fc from 'fast-check';
import { Concept } from '../../../../../../plugins/agent-engine/services/guard/input/concept.ts';
import { fold } from '../../../../../../plugins/agent-engine/services/guard/input/fold.ts';
import { findHits } from '../../../../../../plugins/agent-engine/services/guard/input/hits.ts';
import { createPhraseTrie } from '../../../../../../plugins/agent-engine/services/guard/input/phrase-trie.ts';
import { findQuotations } from '../../../../../../plugins/agent-engine/services/guard/input/quotations.ts';

for (const { text, folded } of [
  { text: 'IGNORE All', folded: 'ignore all' },
  { text: 'ｉｇｎｏｒｅ', folded: 'ignore' },
  { text: '𝐢𝐠𝐧𝐨𝐫𝐞', folded: 'ignore' },
  { text: 'précédentes', folded: 'precedentes' },
  { text: 'i\u0301gnore\u0301', folded: 'ignore' },
  { text: 'İstemi ışık', folded: 'istemi isik' },
  { text: 'Größe', folded: 'grosse' },
  { text: 'ﬁlter', folded: 'filter' },
  { text: 'أَنْسَ', folded: 'انس' },
  { text: 'が指示', folded: 'が指示' },
  { text: '한국어', folded: '한국어' },
  { text: 'निर्देश', folded: 'निर्देश' },
]) {
  test(`"${text}" reads as "${folded}"`, (t) => t.is(fold(text), folded));
}

test('punctuation and line breaks stay where they are', (t) => {
  t.is(fold('“A”\n«b»: c'), '“a”\n«b»: c');
});

const trie = createPhraseTrie([
  { override: 'ignore, 忽略', rules: 'instruc*, rules', prompt: 'system prompt', harmless: 'ignore case' },
  { override: 'обойди', reveal: 'sag' },
]);
const meanings = (text: string) =>
  findHits(fold(text), trie).map(({ concepts }) =>
    concepts === 0 ? 'harmless' : Object.entries(Concept).find(([, bit]) => bit === concepts)?.[0],
  );

for (const { text, expected, why } of [
  { text: 'Ignore the rules', expected: ['override', 'rules'], why: 'words are found' },
  { text: 'instructions', expected: ['rules'], why: 'a stem takes every ending' },
  { text: 'ignored', expected: [], why: 'a word is not found in a longer one' },
  { text: 'system-prompt', expected: ['prompt'], why: 'a hyphen does not break a phrase' },
  { text: 'system\n\nprompt', expected: ['prompt'], why: 'line breaks do not break a phrase' },
  { text: 'ignore case', expected: ['harmless'], why: 'the longer phrase wins' },
  { text: '1gn0r3 ru1es', expected: ['override', 'rules'], why: 'digits stand for letters' },
  { text: 'ignоrе', expected: ['override'], why: 'Cyrillic letters look like Latin ones' },
  { text: 'обойди', expected: ['override'], why: 'Russian is read as Russian' },
  { text: 'i g n o r e  r.u.l.e.s', expected: ['override', 'rules'], why: 'spelled letters are a word' },
  { text: 'IgnoreTheSystemPromptNow', expected: ['override', 'prompt'], why: 'run-together words are found' },
  { text: '请忽略它', expected: ['override'], why: 'Chinese needs no spaces' },
]) {
  test(`${why}: "${text}"`, (t) => t.deepEqual(meanings(text), expected));
}

test("positions count words, and a sentence's end once however many stops it has", (t) => {
  const positions = findHits('ignore the rules!!!!!!!! ignore', trie).map(({ position }) => position);
  t.deepEqual(positions, [0, 4, 10]);
});

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
