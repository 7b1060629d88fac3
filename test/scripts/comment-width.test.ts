import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

const root = path.resolve(import.meta.dirname, '../..');
const FOLDERS = ['kernel', 'foundation', 'plugins', 'cli', 'testing', 'scripts', 'test', 'examples'];
const WIDEST = 120;

test('no comment is wider than 120 columns: the formatter leaves them as they are', async (t) => {
  const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,js}`, { cwd: root })).filter(
    (file) => !file.includes('node_modules'),
  );
  t.true(files.length > 1000);
  const wide: string[] = [];
  for (const file of files) {
    const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
    for (const [index, line] of lines.entries()) {
      const isComment = /^\s*(?:\/\/|\/\*|\* )/.test(line) && !line.includes('biome-ignore');
      if (isComment && line.length > WIDEST) wide.push(`${file}:${index + 1}`);
    }
  }
  t.deepEqual(wide, []);
});
