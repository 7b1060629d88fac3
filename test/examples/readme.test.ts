import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { compileSchema } from '../../foundation/base/json-schema.ts';
import { documents, followChapters, isFollowed } from './follow-documents.ts';
import { type Block, looksLike, markOf } from './readme-blocks.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFile(path.join(root, file), 'utf8');

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
    'plugins/runtime/README.md',
  ]) {
    const own = documents.find((document) => document.name === name);
    t.true(own?.blocks.some(isFollowed), name);
  }
});

test('every fence of the documents is run, saved, compared or checked, or says why not', (t) => {
  const forgotten: string[] = [];
  for (const { name, blocks } of documents) {
    for (const block of blocks) {
      // The sections of the guide of plugins are one.
      const section = blocks.filter((one) => name === 'docs/plugins.md' || one.section === block.section);
      const reason = markOf(block, 'skip');
      // Some reasons are the test that tries it.
      const isExcused = reason?.includes('/') ? existsSync(path.join(root, reason)) : reason !== undefined;
      if (!isExcused && !isChecked(block, section)) forgotten.push(`${name}:${block.line}`);
    }
  }
  t.deepEqual(forgotten, []);
});

function isChecked(block: Block, section: readonly Block[]): boolean {
  const { language, marks, text } = block;
  if (isFollowed(block) || markOf(block, 'from') !== undefined) return true;
  if (marks.includes('output') || marks.includes('printed') || markOf(block, 'file') !== undefined)
    return section.some(isFollowed);
  // `guide.long.test.ts` checks its types, and runs what npm runs.
  if (markOf(block, 'typed') !== undefined) return true;
  if (language === 'bash') return text.split('\n').every((line) => /^npm (?:run \w+|test|ci)\b/.test(line));
  return language === 'yaml' && resourcesOf(block).length > 0;
}

test('what the documents show of a file is in it', async (t) => {
  /** A text without what begins its lines. */
  const flat = (text: string) => text.replaceAll(/^[ \t]+/gm, '');
  for (const { name, blocks } of documents) {
    for (const block of blocks) {
      const from = markOf(block, 'from');
      if (from === undefined) continue;
      const isThere = looksLike(`-\n${flat(await read(from))}\n-`, `…\n${flat(block.text)}\n…`);
      t.true(isThere, `${name}:${block.line} is not in ${from}`);
    }
  }
});

test('the resources that the documents show have the form of their kind, and names of their own', async (t) => {
  const bundled = await Promise.all(
    (await readdir(path.join(root, 'agents.d'))).map((file) => read(`agents.d/${file}`)),
  );
  const taken = bundled.flatMap((text) => resourcesOf({ language: 'yaml', text })).map(nameOf);
  const check = compileSchema(JSON.parse(await read('schemas/resource.schema.json')));
  for (const { name, blocks } of documents) {
    // A gateway reads those that are saved; one of them has a mistake, to show what happens.
    for (const block of blocks.filter((one) => !one.marks.some((mark) => /^(?:from|file)=/.test(mark))))
      for (const resource of resourcesOf(block)) {
        t.deepEqual(check(resource), [], `${name}:${block.line}`);
        t.false(
          taken.includes(nameOf(resource)),
          `${name}:${block.line}: ${nameOf(resource)} is in agents.d`,
        );
      }
  }
});

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const nameOf = ({ kind, metadata }: Resource) => `${kind} ${metadata.name}`;

/** The documents of agents.d in a YAML block; none where one of its documents is something else. */
function resourcesOf({ language, text }: Pick<Block, 'language' | 'text'>): readonly Resource[] {
  if (language !== 'yaml') return [];
  const values = parseAllDocuments(text).map((document) => document.toJS());
  return values.every((value) => value?.apiVersion === 'svc/v1') ? values : [];
}
