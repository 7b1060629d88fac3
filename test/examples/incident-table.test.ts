import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** What operators search the table for: codes of errors, and words of the log. */
async function named(): Promise<{ readonly codes: Set<string>; readonly words: Set<string> }> {
  const guide = await readFile(path.join(ROOT, 'docs/operating.md'), 'utf8');
  const [, section = ''] = guide.split('## When something is wrong\n');
  const [table = ''] = section.split('\n## ');
  const codes = new Set<string>();
  const words = new Set<string>();
  for (const [, text = ''] of table.matchAll(/`([^`]+)`/g)) {
    if (/^[a-z]+\.[a-z-]+$/.test(text) && !text.endsWith('.yaml') && text !== 'err.stack') codes.add(text);
    // Words of the log begin small, or with the name of what is away, and are neither a command nor a query.
    else if (/^(?:an? |the |not |gateway\.yaml |events |tools |outbound |audit |Redis )/.test(text))
      words.add(text);
  }
  return { codes, words };
}

test('the codes and the words of the log by which operators look a failure up are those of the gateway', async (t) => {
  const files = globSync(['foundation/**/*.ts', 'kernel/**/*.ts', 'plugins/**/*.ts'], { cwd: ROOT });
  const sources = (await Promise.all(files.map((file) => readFile(path.join(ROOT, file), 'utf8')))).join(
    '\n',
  );
  const { codes, words } = await named();
  t.true(codes.size > 12 && words.size > 15, 'the table was found');
  for (const code of codes) t.true(sources.includes(`code: '${code}'`), `${code} is the code of an error`);
  for (const text of words) t.true(sources.includes(text), `the log says: ${text}`);
});
