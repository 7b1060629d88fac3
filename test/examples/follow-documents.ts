import { cp, glob, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { freshDatabase } from '../support/databases.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { type GatewayProcess, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { isWhole } from '../support/sample.ts';
import { available } from '../support/services.ts';
import { type Block, hasForm, looksLike, markOf, readBlocks } from './readme-blocks.ts';
import { openShell, type Shell } from './shell.ts';

/*
 * The README, the guides and the READMEs of the parts as a reader follows them. In each section, from top to bottom:
 * `start` starts a gateway with the variables that the command sets, `run` is typed into a shell, `output` is what that
 * wrote, `printed` is what the gateway wrote for a person, `file=<path>` is saved. The variables of the block `setup`
 * are there in every section. How to back up and restore is followed by `backup.test.ts`.
 */

const root = path.resolve(import.meta.dirname, '../..');
/** Whose sections build on each other; those of all other documents can be read one by one. */
const GUIDES: ReadonlySet<string> = new Set(['docs/plugins.md']);
/** Shows what is left of a limit, and that is more where nobody else has asked. */
const FRESH: ReadonlySet<string> = new Set(['docs/operating.md, Limits']);
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  ...(await readdir(path.join(root, 'docs')))
    .filter((name) => name.endsWith('.md') && name !== 'backup.md')
    .map((name) => `docs/${name}`),
];
/** The READMEs of folders. That of `new-plugin/template` is made into one of a plugin. */
const PARTS: string[] = [];
for await (const name of glob('{cli,examples,foundation,kernel,plugins,scripts,test,testing}/**/README.md', {
  cwd: root,
  exclude: (folder) => folder === 'node_modules' || folder === 'template',
}))
  PARTS.push(name);
/** The documents and their blocks. */
export const documents = await Promise.all(
  [...DOCUMENTS, ...PARTS.sort()].map(async (name) => ({
    name,
    blocks: readBlocks(await readFile(path.join(root, name), 'utf8')),
  })),
);
const blocks = documents.flatMap((document) => document.blocks);
const setup = blocks.find(({ marks }) => marks.includes('setup'))?.text ?? '';

/** The address in the README; a test's gateway has a port of its own. */
const SHOWN_URL = 'http://127.0.0.1:8080';
const START = /^(?:npm ci && )?((?:[A-Z_]+=\S+ )*)npm start$/;

/** What a reader follows in one go, with a gateway for each `start` in it. */
interface Chapter {
  readonly name: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

/**
 * Declares a test for each chapter of these documents that starts a gateway, and one for all others: these share one,
 * each with a shell of its own. In `npm run test:long` each has a gateway of its own, too.
 */
export function followChapters(names: readonly string[]): void {
  const chapters = documents.filter(({ name }) => names.includes(name)).flatMap(chaptersOf);
  const isAlone = ({ title, blocks: own }: Chapter) =>
    isWhole || FRESH.has(title) || own.some(({ marks }) => marks.includes('start'));
  // One after the other: each has a process of its own.
  for (const { name, title, blocks: own } of chapters.filter(isAlone)) {
    test.serial(`${title}: its commands do what it says`, async (t) => {
      t.timeout(600_000);
      const reader = new Reader(t, await readersFolder(t));
      for (const block of own) await reader.follow(name, block);
      await reader.leave();
    });
  }
  const others = chapters.filter((chapter) => !isAlone(chapter));
  if (others.length === 0) return;
  test.serial('what starts no gateway: its commands do what it says', async (t) => {
    t.timeout(600_000);
    const reader = new Reader(t, await readersFolder(t));
    for (const { name, blocks: own } of others) {
      for (const block of own) await reader.follow(name, block);
      await reader.closeShell();
    }
    await reader.leave();
  });
}

/** A guide is one chapter, and starts a gateway for each of its sections. */
function chaptersOf({ name, blocks: all }: (typeof documents)[number]): readonly Chapter[] {
  if (GUIDES.has(name)) return [{ name, title: name, blocks: all }];
  return [...new Set(all.filter(isFollowed).map(({ section }) => section))].map((section) => ({
    name,
    title: section === '' ? name : `${name}, ${section}`,
    blocks: all.filter((block) => block.section === section),
  }));
}

/** Whether a reader types it. */
export function isFollowed({ marks }: Block): boolean {
  return marks.includes('run') || marks.includes('start');
}

/** A folder with the gateway's code and packages, as the reader's has. */
async function readersFolder(t: ExecutionContext): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const name of [
    'node_modules',
    'package.json',
    'cli',
    'kernel',
    'foundation',
    'testing',
    'plugins',
    'examples',
    'scripts',
  ])
    await symlink(path.join(root, name), path.join(folder, name));
  // Readers write into this one.
  await cp(path.join(root, 'agents.d'), path.join(folder, 'agents.d'), { recursive: true });
  return folder;
}

/** Somebody who does what one section says. */
class Reader {
  readonly #t: ExecutionContext;
  readonly #folder: string;
  #gateway: GatewayProcess | undefined;
  #shell: Shell | undefined;
  #output = '';
  readonly #printed: string[] = [];

  constructor(t: ExecutionContext, folder: string) {
    this.#t = t;
    this.#folder = folder;
  }

  async follow(document: string, block: Block): Promise<void> {
    const { marks, text } = block;
    const place = `${document}:${block.line}`;
    const file = markOf(block, 'file');
    if (file !== undefined) await this.#save(file, text);
    if (marks.includes('start')) await this.#start(text, place);
    // A shell is opened when there is something to type: until then the section may still start a gateway of its own.
    if (marks.includes('run')) this.#output = await (await this.#openShell()).run(this.#here(text));
    if (marks.includes('output')) this.#compare(block, place);
    if (marks.includes('printed')) this.#printed.push(text);
  }

  /** What is typed next is typed into a new one. */
  async closeShell(): Promise<void> {
    await this.#shell?.close();
    this.#shell = undefined;
  }

  async leave(): Promise<void> {
    await this.closeShell();
    if (this.#gateway === undefined) return;
    const { code, stderr } = await this.#gateway.stop();
    this.#t.is(code, 0);
    for (const text of this.#printed) this.#t.true(looksLike(stderr, this.#here(text)), `printed: ${stderr}`);
    this.#gateway = undefined;
  }

  async #save(file: string, text: string): Promise<void> {
    const target = path.join(this.#folder, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, `${text}\n`);
  }

  async #start(command: string, place: string): Promise<void> {
    await this.leave();
    const match = START.exec(command);
    if (match === null) throw new Error(`${place} starts no gateway: ${command}`);
    const env: Record<string, string> = {};
    for (const setting of (match[1] ?? '').split(' ').filter(Boolean)) {
      const [name = '', value = ''] = setting.split(/=(.*)/);
      const here = await valueHere(this.#t, name, value);
      // The server is missing, and the helper has said so.
      if (here === undefined) return;
      env[name] = here;
    }
    await this.#startWith(env);
  }

  async #startWith(env: Readonly<Record<string, string>>): Promise<void> {
    this.#gateway = await startGatewayProcess(this.#t, this.#folder, { SVC_ACP_TOKEN: '', ...env });
    const { body } = await this.#gateway.request('/health/ready');
    this.#t.like(body, { status: 'ready', database: 'ok' });
  }

  /** A shell that knows the gateway; started without variables where the section does not start one. */
  async #openShell(): Promise<Shell> {
    if (this.#shell !== undefined) return this.#shell;
    if (this.#gateway === undefined) await this.#startWith({});
    const { PATH = '', HOME = '' } = process.env;
    const shell = openShell(this.#folder, { PATH, HOME });
    this.#t.teardown(() => shell.close());
    await shell.run(this.#here(setup));
    this.#shell = shell;
    return shell;
  }

  /** A text of the README with the address of this gateway. */
  #here(text: string): string {
    return text.replaceAll(SHOWN_URL, this.#gateway!.url);
  }

  #compare({ language, text }: Block, place: string): void {
    const isAsShown =
      language === 'json'
        ? hasForm(JSON.parse(this.#output), JSON.parse(text))
        : looksLike(this.#output, text);
    this.#t.true(isAsShown, `${place} shows something else than ${this.#output}`);
  }
}

/** The value that stands here for one of the README's examples; `undefined` when its server is missing. */
async function valueHere(t: ExecutionContext, name: string, value: string): Promise<string | undefined> {
  switch (name) {
    case 'LLM_API_URL': {
      const provider = await startFakeProvider();
      t.teardown(() => provider[Symbol.asyncDispose]());
      return provider.url;
    }
    case 'DATABASE_URL':
      return (await freshDatabase(t, value.startsWith('postgres') ? 'postgres' : 'mysql'))?.environment
        .DATABASE_URL;
    case 'REDIS_URL':
      return (await available(t, 'redis')) ? value : undefined;
    default:
      return value;
  }
}
