import { existsSync } from 'node:fs';
import { glob, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

/** Of an error of a catalogue. */
const CODE = /\bcode: '([^']+)',\s+kind:/g;

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFile(path.join(root, file), 'utf8');

/** Every Markdown file that is ours. */
const FOREIGN: ReadonlySet<string> = new Set(['node_modules', '.git', 'data', 'dist']);
const documents = () => glob('**/*.md', { cwd: root, exclude: (folder) => FOREIGN.has(folder) });

/** Folders right below `folder`. */
async function foldersOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

test('every link inside the repository leads to a file, and to a heading where it names one', async (t) => {
  const anchors = new Map<string, readonly string[]>();
  for await (const document of documents()) {
    const prose = (await read(document)).replaceAll(/^```[\s\S]*?^```/gm, '');
    for (const [, link = ''] of prose.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = link.split('#');
      const target = path.join(path.dirname(document), file);
      const found = file === '' ? document : target;
      t.true(existsSync(path.join(root, found)), `${document} links to ${link}`);
      if (anchor === undefined) continue;
      if (!anchors.has(found)) anchors.set(found, anchorsOf(await read(found)));
      t.true(anchors.get(found)?.includes(anchor), `${document} links to the heading ${link}`);
    }
  }
});

test('every folder of the kernel and the foundation is in the map of its README, and every file that is named is there', async (t) => {
  for (const part of ['kernel', 'foundation']) {
    const text = await read(`${part}/README.md`);
    for (const folder of await foldersOf(part))
      t.true(text.includes(`| \`${folder}/\``), `${part}/${folder}`);
    for (const [, file = ''] of text.matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.ts)`/g)) {
      const isThere = existsSync(path.join(root, part, file)) || existsSync(path.join(root, file));
      t.true(isThere, `${part}/README.md names ${file}`);
    }
  }
});

test('every dependency has a line that says what it is for, and no line is of one that is gone', async (t) => {
  const { dependencies, devDependencies } = JSON.parse(await read('package.json')) as Record<string, object>;
  const [ofProduct = '', ofDevelopment = ''] = (await read('docs/dependencies.md')).split(/^## /m).slice(1);
  const named = (section: string) => [...section.matchAll(/^\| `([^`]+)` \| \S/gm)].map(([, name]) => name);
  t.deepEqual(named(ofProduct), Object.keys(dependencies!).sort());
  t.deepEqual(named(ofDevelopment), Object.keys(devDependencies!).sort());
});

test('a folder with more than ten files says which file holds what', async (t) => {
  for (const part of ['kernel', 'foundation', 'plugins', 'testing']) {
    const folders = (await readdir(path.join(root, part), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(entry.parentPath, entry.name));
    for (const folder of [path.join(root, part), ...folders]) {
      const files = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
      if (files.length <= 10) continue;
      const own = path.relative(root, folder);
      const map = await mapOf(own);
      for (const file of files) t.true(map?.includes(file), `no file map says what ${own}/${file} holds`);
    }
  }
});

/** The README of the folder, or of the nearest one above it that has one. */
async function mapOf(folder: string): Promise<string | undefined> {
  for (let at = folder; at !== '.'; at = path.dirname(at)) {
    if (existsSync(path.join(root, at, 'README.md'))) return read(path.join(at, 'README.md'));
  }
  return undefined;
}

test('every npm script that a document names exists', async (t) => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  for await (const document of documents()) {
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
    'plugins/channels',
    'plugins/evolution',
    'plugins/execution',
    'plugins/hub',
    'plugins/pages',
    'plugins/platform',
    'plugins/records',
    'plugins/runtime',
    'plugins/workflow',
    'examples/plugins/feedback',
    'examples/plugins/moderation',
    'examples/plugins/notes',
    'examples/plugins/teams-bot',
    'examples/plugins/textkit',
  ]) {
    const text = await read(`${plugin}/README.md`);
    for (const file of await readdir(path.join(root, plugin), { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const source = await read(`${plugin}/${file}`);
      for (const [, code] of source.matchAll(CODE)) {
        t.true(text.includes(`\`${code}\``), `${plugin}: ${code}`);
      }
      for (const [, variable] of source.matchAll(/\benv: '([A-Z_]+)'/g)) {
        t.true(text.includes(`\`${variable}\``), `${plugin}: ${variable}`);
      }
    }
  }
});

test('every code of an error of the kernel and the foundation is in a document', async (t) => {
  let told = '';
  for await (const document of documents()) told += await read(document);
  const missing: string[] = [];
  for await (const file of glob('{foundation,kernel}/**/*.ts', { cwd: root })) {
    for (const [, code] of (await read(file)).matchAll(CODE))
      if (!told.includes(`\`${code}\``)) missing.push(code!);
  }
  t.deepEqual(missing, []);
});

/** The anchors that GitHub gives to headings: of equal ones the second ends in `-1`. */
function anchorsOf(markdown: string): readonly string[] {
  const times = new Map<string, number>();
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const time = times.get(anchor) ?? 0;
    times.set(anchor, time + 1);
    return time === 0 ? anchor : `${anchor}-${time}`;
  });
}
