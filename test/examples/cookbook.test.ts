import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { readBlocks } from './readme-blocks.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A text without what begins its lines. */
const flat = (text: string) => text.replaceAll(/^[ \t]+/gm, '');

test('what the cookbook shows is what the examples say', async (t) => {
  const blocks = readBlocks(await readFile(path.join(ROOT, 'docs/cookbook.md'), 'utf8'));
  t.true(blocks.length > 5);
  for (const { text, marks, line } of blocks) {
    const from = marks.find((mark) => mark.startsWith('from='))?.slice('from='.length);
    if (from === undefined) {
      t.fail(`docs/cookbook.md:${line} does not say from which file it is`);
      continue;
    }
    const source = await readFile(path.join(ROOT, from), 'utf8');
    t.true(flat(source).includes(flat(text)), `docs/cookbook.md:${line} is not in ${from}`);
  }
});
