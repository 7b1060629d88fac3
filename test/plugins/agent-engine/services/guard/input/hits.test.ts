import test from 'ava';
import { Concept } from '../../../../../../plugins/agent-engine/services/guard/input/concept.ts';
import { fold } from '../../../../../../plugins/agent-engine/services/guard/input/fold.ts';
import { findHits } from '../../../../../../plugins/agent-engine/services/guard/input/hits.ts';
import { createPhraseTrie } from '../../../../../../plugins/agent-engine/services/guard/input/phrase-trie.ts';

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
