import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFile(path.join(root, file), 'utf8');

/** Every Markdown file that is ours. */
async function documents(): Promise<readonly string[]> {
  const names = await readdir(root, { recursive: true });
  return names.filter((name) => name.endsWith('.md') && !/(?:^|\/)(?:node_modules|\.git|data)\//.test(name));
}

/** Folders right below `folder`. */
async function foldersOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

test('every link inside the repository leads to a file, and to a heading where it names one', async (t) => {
  for (const document of await documents()) {
    for (const [, link = ''] of (await read(document)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = link.split('#');
      const target = path.join(path.dirname(document), file);
      const found = file === '' ? document : target;
      t.true(existsSync(path.join(root, found)), `${document} links to ${link}`);
      if (anchor === undefined) continue;
      t.true(anchorsOf(await read(found)).includes(anchor), `${document} links to the heading ${link}`);
    }
  }
});

test('every file of the kernel that its README names is there, and so is every folder', async (t) => {
  const text = await read('kernel/README.md');
  for (const folder of await foldersOf('kernel')) t.true(text.includes(`| \`${folder}/\``), folder);
  for (const [, file = ''] of text.matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.ts)`/g)) {
    const isThere = existsSync(path.join(root, 'kernel', file)) || existsSync(path.join(root, file));
    t.true(isThere, `kernel/README.md names ${file}`);
  }
});

test('every npm script that a document names exists', async (t) => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  for (const document of await documents()) {
    for (const [command, name = ''] of (await read(document)).matchAll(
      /npm run (?:--silent )?([a-z:-]*[a-z])/g,
    )) {
      t.true(name in scripts, `${document} says ${command}`);
    }
  }
});

test('every plugin has a README that tells its settings and every code of its errors', async (t) => {
  for (const plugin of [
    'plugins/agent-engine',
    'plugins/platform',
    'plugins/records',
    'plugins/workflow',
    'examples/plugins/notes',
  ]) {
    const text = await read(`${plugin}/README.md`);
    for (const file of await readdir(path.join(root, plugin), { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const source = await read(`${plugin}/${file}`);
      for (const [, code] of source.matchAll(/\bcode: '([^']+)',\s+kind:/g)) {
        t.true(text.includes(`\`${code}\``), `${plugin}: ${code}`);
      }
      for (const [, variable] of source.matchAll(/\benv: '([A-Z_]+)'/g)) {
        t.true(text.includes(`\`${variable}\``), `${plugin}: ${variable}`);
      }
    }
  }
});

/** The anchors that GitHub gives to headings. */
function anchorsOf(markdown: string): readonly string[] {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
