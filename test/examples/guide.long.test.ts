import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { chosenFeatures } from '../../scripts/new-plugin/features.ts';
import { writePlugin } from '../../scripts/new-plugin/write-plugin.ts';
import { available } from '../support/services.ts';
import { type Block, markOf, readBlocks } from './readme-blocks.ts';

/*
 * What takes too long beside `plugin-guide.long.test.ts`, which runs the guide's plugins and most of its commands: that
 * an editor finds no mistake in its code, and the commands that nothing is expected of but that they succeed.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const GUIDE = readBlocks(await readFile(path.join(ROOT, 'docs/plugins.md'), 'utf8'));
const MINUTE = 60_000;

let base = '';

test.before(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'guide-'));
});

test.after.always(() => rm(base, { recursive: true, force: true }));

/** Runs a command; returns what it wrote, and throws that where it failed. */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, timeout: 8 * MINUTE, maxBuffer: 1 << 26 }))
      .stdout;
  } catch (failure) {
    const { stdout = '', stderr = '' } = failure as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`, { cause: failure });
  }
}

/**
 * Where a block of code is saved: `file=my-plugins/notes/plugin.ts`, or `typed=conformance.ts` beside the plugin of
 * `npm run new-plugin`.
 */
function placeOf(block: Block): string | undefined {
  const typed = markOf(block, 'typed');
  return typed === undefined ? markOf(block, 'file') : path.join('my-plugins/weather', typed);
}

test.serial('the commands of the guide that npm runs do what they are for', async (t) => {
  t.timeout(12 * MINUTE);
  const areThere = (await available(t, 'postgres')) && (await available(t, 'mariadb'));
  const commands = GUIDE.filter(
    ({ language, marks }) => language === 'bash' && !marks.includes('run') && !marks.includes('start'),
  );
  t.true(commands.length > 0);
  // A copy of the project: what is packed is written into its folder.
  const project = path.join(base, 'gateway');
  await mkdir(project);
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: ROOT, maxBuffer: 1 << 26 });
  for (const file of stdout.split('\0').filter((name) => name !== '' && !name.startsWith('test/')))
    await cp(path.join(ROOT, file), path.join(project, file));
  await symlink(path.join(ROOT, 'node_modules'), path.join(project, 'node_modules'));
  await run(project, 'npm', 'run', '--silent', 'new-plugin', '--', 'weather', '--dir', 'my-plugins');
  for (const { text, line } of commands.filter((one) => areThere || !one.text.includes('postgres:'))) {
    const output = await run(project, 'bash', '-euo', 'pipefail', '-c', text);
    t.notRegex(output, /✘|Error/, `docs/plugins.md:${line}`);
  }
  const manifest = await readFile(path.join(base, 'weather/package.json'), 'utf8');
  t.like(JSON.parse(manifest), { name: '@acme/gateway-plugin-weather' });
});

test.serial("the guide's code has no mistake that an editor would show", async (t) => {
  t.timeout(5 * MINUTE);
  const folder = path.join(base, 'code');
  await mkdir(folder);
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  const features = chosenFeatures('routes,table,grpc,kind,job,tool,node-type,page');
  await writePlugin({ name: 'weather', dir: path.join(folder, 'my-plugins'), features });
  const code = GUIDE.filter(({ language }) => language === 'ts');
  for (const block of code) {
    const place = placeOf(block);
    if (place === undefined) {
      t.fail(`docs/plugins.md:${block.line} is neither saved nor typed`);
      continue;
    }
    await mkdir(path.dirname(path.join(folder, place)), { recursive: true });
    await writeFile(path.join(folder, place), block.text);
  }
  t.true(code.length > 10);
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
  // The declarations that the guide's `npm run package` has made: the sources would be checked as well, which takes a
  // minute.
  const { exports } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string>;
  };
  const paths = Object.entries(exports).map(([name, file]) => [
    path.posix.join('agent-gateway', name),
    [path.join(base, 'gateway/dist/agent-gateway', file.replace(/\.ts$/, '.d.ts'))],
  ]);
  const compilerOptions = {
    noEmit: true,
    allowImportingTsExtensions: true,
    paths: Object.fromEntries(paths),
  };
  await writeFile(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: path.join(ROOT, 'testing/plugin.tsconfig.json'),
      compilerOptions,
      include: ['my-plugins/**/*.ts'],
    }),
  );
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  await t.notThrowsAsync(run(folder, process.execPath, compiler, '-p', folder));
});
