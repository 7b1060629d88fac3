import test from 'ava';
import { documents, followChapters, isFollowed } from './follow-documents.ts';

// The guide of plugins takes as long as all the others: `plugin-guide.long.test.ts` follows it.
followChapters(documents.map(({ name }) => name).filter((name) => name !== 'docs/plugins.md'));

test('the documents have commands to follow', (t) => {
  for (const name of [
    'README.md',
    'docs/tutorial.md',
    'docs/operating.md',
    'docs/agents.md',
    'docs/clients.md',
    'docs/plugins.md',
  ]) {
    const own = documents.find((document) => document.name === name);
    t.true(
      own?.blocks.some(({ marks }) => marks.includes('run')),
      name,
    );
  }
});

test('every command of the documents is run by a test, or is one of npm', (t) => {
  for (const { name, blocks: all } of documents) {
    const others = all.filter((block) => block.language === 'bash' && !isFollowed(block));
    for (const { text, line } of others) {
      for (const command of text.split('\n'))
        t.regex(command, /^npm (?:run \w+|test|ci && npm test)\b/, `${name}, line ${line}`);
    }
  }
});
