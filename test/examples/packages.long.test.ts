import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { buildPackage } from '../../scripts/package/build-package.ts';
import { sample } from '../support/sample.ts';
import { available } from '../support/services.ts';

/*
 * The examples as their users have them: each is packed, installed beside the packed gateway into an empty folder, and
 * its tests are checked and run there against what was installed. Nothing is fetched: third-party packages are those of
 * this repository.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const EXAMPLES = ['feedback', 'moderation', 'notes', 'teams-bot', 'textkit'];
const MINUTE = 60_000;

/** This Node before any other, and no variables of the test run's own npm. */
const ENV = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)|^NODE_/.test(name)),
  ),
  PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
};

async function run(cwd: string, command: string, args: readonly string[], env = {}): Promise<string> {
  const options = { cwd, env: { ...ENV, ...env }, timeout: 8 * MINUTE, maxBuffer: 1 << 26 };
  try {
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (failure) {
    const { stdout = '', stderr = '' } = failure as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr || String(failure)}`, {
      cause: failure,
    });
  }
}

/** Packs a folder into `target`; returns the path of the tarball. */
async function pack(folder: string, target: string): Promise<string> {
  const out = await run(folder, 'npm', ['pack', '--json', '--loglevel=error', '--pack-destination', target]);
  const [{ filename }] = JSON.parse(out.slice(out.lastIndexOf('\n[') + 1)) as [{ filename: string }];
  return path.join(target, filename);
}

/** The packed gateway among the third-party packages of this repository, as npm would install it. */
async function installGateway(base: string): Promise<void> {
  const modules = path.join(base, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(path.join(ROOT, 'node_modules')))
    if (name !== '.cache') await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  const built = path.join(base, 'built');
  await buildPackage(built);
  const tarball = await pack(built, base);
  await mkdir(path.join(modules, 'agent-gateway'));
  await run(base, 'tar', [
    '-xzf',
    tarball,
    '--strip-components=1',
    '-C',
    path.join(modules, 'agent-gateway'),
  ]);
}

/**
 * Builds and packs a copy of the example, and installs the tarball into an empty folder with its tests. Returns the
 * folder.
 */
async function installExample(base: string, name: string): Promise<string> {
  const sources = path.join(base, 'sources', name);
  const example = path.join(ROOT, 'examples/plugins', name);
  await cp(example, sources, { recursive: true, filter: (file) => !/\/(node_modules|dist)$/.test(file) });
  const tarball = await pack(sources, base);
  const folder = path.join(base, name);
  await mkdir(folder);
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  // Peers are there, in the folder above.
  await run(folder, 'npm', [
    'install',
    '--offline',
    '--legacy-peer-deps',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    tarball,
  ]);
  const built = await run(sources, process.execPath, [
    path.join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    'tsconfig.build.json',
    '--listFilesOnly',
  ]);
  // What is not built from sources belongs to the tests, whose `./plugin.ts` is the installed one, as is whatever else
  // the package exports.
  const isPublished = (file: string) => built.split('\n').includes(file) || file.endsWith('package.json');
  await cp(sources, folder, {
    recursive: true,
    force: false,
    filter: (file) => !isPublished(file) && !file.endsWith('/dist'),
  });
  const installed = `@example/gateway-plugin-${name}`;
  await writeFile(path.join(folder, 'plugin.ts'), `export { default } from '${installed}';\n`);
  const { exports } = JSON.parse(await readFile(path.join(sources, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>;
  };
  for (const module of Object.keys(exports).filter((place) => /^\.\/[a-z]+$/.test(place)))
    await writeFile(
      path.join(folder, `${module}.ts`),
      `export * from '${path.posix.join(installed, module)}';\n`,
    );
  return folder;
}

let base = '';

test.before(async (t) => {
  t.timeout(5 * MINUTE);
  base = await mkdtemp(path.join(tmpdir(), 'examples-'));
  await installGateway(base);
});

test.after.always(() => rm(base, { recursive: true, force: true }));

/** Packs, installs, checks and tests one example on each database that there is. */
async function tryExample(t: ExecutionContext, name: string): Promise<void> {
  const folder = await installExample(base, name);
  await run(folder, process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit']);
  const postgres = (await available(t, 'postgres')) && 'postgres://root@127.0.0.1:5432/postgres';
  const mysql = (await available(t, 'mariadb')) && 'mysql://root@127.0.0.1:3306/mysql';
  const report = await run(
    folder,
    process.execPath,
    ['--test', '--test-concurrency=4', '--test-reporter=tap'],
    {
      ...(postgres && { TEST_POSTGRES_URL: postgres }),
      ...(mysql && { TEST_MYSQL_URL: mysql }),
    },
  );
  t.log(`${name}: ${/^# pass \d+/m.exec(report)?.[0]}`);
  t.regex(report, /^# fail 0$/m, name);
  for (const database of ['sqlite', postgres && 'postgres', mysql && 'mysql'])
    if (database) t.regex(report, new RegExp(`^ok .*\\(${database}\\)`, 'm'), name);
}

test('each example is packed, installed, type-checked and tested on each database', async (t) => {
  t.timeout(20 * MINUTE);
  // All come to their end, so that each failure is told and nothing is at work in the folder when it goes.
  const tried = await Promise.allSettled(sample(t, EXAMPLES, 1).map((name) => tryExample(t, name)));
  const failures = tried.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  t.deepEqual(failures, []);
});
