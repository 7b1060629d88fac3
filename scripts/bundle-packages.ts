import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import {
  BUNDLES,
  type BundledModule,
  digestOf,
  INSTALLED,
  MANIFEST,
  type Manifest,
  packageOf,
} from '../foundation/code/bundled-packages.ts';

/*
 * `npm run bundle`, and `npm ci` at its end: makes few files of the npm packages that a start loads, see
 * foundation/code/bundled-packages.ts. Nothing is left out or made smaller, so what the gateway runs can be read there.
 */

/**
 * The modules by which these packages are entered. All that most deployments load and that consists of many files.
 * Packages that read files of their own, or start threads from them, stay as they are.
 */
const MODULES = [
  '@fastify/busboy',
  '@mikro-orm/core',
  '@mikro-orm/mariadb',
  '@mikro-orm/mysql',
  '@mikro-orm/postgresql',
  '@mikro-orm/sql',
  '@mikro-orm/sqlite',
  'ajv',
  'ajv-formats',
  'ajv/dist/2020.js',
  'bullmq',
  'chokidar',
  'content-disposition',
  'eventsource-parser',
  'find-my-way',
  'ioredis',
  'koa',
  'kysely',
  'pg',
  'prom-client',
  'proxy-addr',
  'semver/functions/satisfies.js',
  'semver/ranges/valid.js',
  'standardwebhooks',
  'typebox',
  'undici',
  'yaml',
];

/** What these packages load only if it is there, and what loads a library of the machine. */
const APART = [
  '@mikro-orm/entity-generator',
  '@mikro-orm/migrations',
  '@mikro-orm/seeder',
  'better-sqlite3',
  'msgpackr',
  'mysql2',
  'mysql2/*',
  'pg-native',
];

/** A module that a package is entered by. */
interface Entry {
  readonly name: string;
  /** Its file, absolute. */
  readonly file: string;
  readonly isCommonJs: boolean;
  /** The name of what is made of it, without ending. */
  readonly id: string;
}

async function main(): Promise<void> {
  const entries = await Promise.all(MODULES.map(entryOf));
  const folder = await mkdtemp(path.join(INSTALLED, '.packages-'));
  try {
    await bundle(entries, folder);
    const modules = Object.fromEntries(entries.map((entry) => [below(entry.file), moduleOf(entry)]));
    const manifest: Manifest = { digest: digestOf(modules), modules };
    await Promise.all(entries.map((entry) => expectSame(entry, folder)));
    await writeFile(path.join(folder, path.basename(MANIFEST)), JSON.stringify(manifest));
    await mkdir(path.dirname(BUNDLES), { recursive: true });
    // So far it is for its own user alone, and the gateway often runs as another one, as in the image.
    await chmod(folder, 0o777 & ~process.umask());
    await rm(BUNDLES, { recursive: true, force: true });
    await rename(folder, BUNDLES);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function entryOf(name: string): Promise<Entry> {
  const file = fileURLToPath(import.meta.resolve(name));
  const id = name.replaceAll('/', '+').replace(/\.js$/, '');
  return { name, file, id, isCommonJs: await isCommonJs(file) };
}

async function isCommonJs(file: string): Promise<boolean> {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.cjs');
  return JSON.parse(await readFile(path.join(INSTALLED, packageOf(below(file))), 'utf8')).type !== 'module';
}

/** The path from `node_modules`. */
function below(file: string): string {
  return path.relative(INSTALLED, file);
}

function moduleOf({ id, isCommonJs }: Entry): BundledModule {
  return { file: `${id}.mjs`, isCommonJs };
}

async function bundle(entries: readonly Entry[], folder: string): Promise<void> {
  // A package of development: `npm ci --omit=dev` leaves it out.
  const { build } = await import('esbuild');
  await build({
    entryPoints: Object.fromEntries(entries.map(({ id, file }) => [id, file])),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    logLevel: 'warning',
    external: APART,
    // CommonJS in a file that is a module.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
    plugins: [commonJsEntries(entries)],
  });
}

/** Where modules lie that only hand on what a module of CommonJS exports. */
const REEXPORTS = 'reexports';

/** What a module of CommonJS exports by name to `import` is known by importing it. */
function commonJsEntries(entries: readonly Entry[]): Plugin {
  // The ending says that these are modules, for which the default of CommonJS is all that it exports, as in Node.
  const modules = new Map(
    entries.filter((entry) => entry.isCommonJs).map((entry) => [`${entry.file}.mjs`, entry]),
  );
  return {
    name: 'entries of CommonJS',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ kind, path: file }) =>
        kind === 'entry-point' && modules.has(`${file}.mjs`)
          ? { path: `${file}.mjs`, namespace: REEXPORTS }
          : undefined,
      );
      onLoad({ filter: /.*/, namespace: REEXPORTS }, async ({ path: module }) => ({
        contents: await reexport(modules.get(module)!),
        resolveDir: INSTALLED,
      }));
    },
  };
}

async function reexport({ name, file }: Entry): Promise<string> {
  const names = Object.keys(await import(name)).filter(
    (key) => key !== 'default' && key !== 'module.exports',
  );
  const taken = names.map((key) => `${key}: own_${key}`).join(', ');
  const given = names.map((key) => `own_${key} as ${key}`).join(', ');
  return [
    `import all from ${JSON.stringify(file)};`,
    'export default all;',
    `const { ${taken} } = all;`,
    `export { ${given} };`,
  ].join('\n');
}

/** Throws when what was made exports anything else than the package. */
async function expectSame(entry: Entry, folder: string): Promise<void> {
  const [own, made] = await Promise.all([
    import(entry.name),
    import(pathToFileURL(path.join(folder, moduleOf(entry).file)).href),
  ]);
  const exported = (module: object) =>
    Object.keys(module)
      .filter((key) => key !== 'module.exports')
      .sort()
      .join();
  if (exported(own) !== exported(made))
    throw new Error(`${entry.name} exports ${exported(own)}, and its bundle ${exported(made)}`);
}

await main().catch((error: unknown) => {
  process.stderr.write(
    `The npm packages are not bundled, so that the gateway starts more slowly: ${String(error)}\n`,
  );
  process.exitCode = 1;
});
