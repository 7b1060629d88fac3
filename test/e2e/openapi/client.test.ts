import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../../support/gateway-process.ts';
import { startAll } from './all-plugins.ts';
import { storyPlugin } from './successes.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const DEADLINE_MS = 60_000;
/** As strict as a client may be. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2025', 'dom', 'dom.iterable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    // The libraries of Node and of browsers are not what is tried here: to check them takes half of the time. What is
    // generated is a `.ts`, so it is checked.
    skipLibCheck: true,
  },
  files: ['program.ts', 'misuse.ts'],
};

/** Runs a program of `node_modules` or a file in `folder`, and returns what it wrote. */
function run(folder: string, [file = '', ...args]: readonly string[], input = '') {
  const { promise, resolve } = Promise.withResolvers<{ failed: boolean; out: string; err: string }>();
  const options = { cwd: folder, timeout: DEADLINE_MS, maxBuffer: 16 * 1024 * 1024 };
  const child = execFile(process.execPath, [file, ...args], options, (error, out, err) =>
    resolve({ failed: error !== null, out, err }),
  );
  child.stdin?.end(input);
  return promise;
}

test('a typed client that is made of the document compiles, refuses what is wrong, and works', async (t) => {
  t.timeout(180_000);
  const gateway = await startAll(storyPlugin().plugin);
  t.teardown(gateway.stop);
  const folder = await temporaryFolder(t);
  await cp(path.join(import.meta.dirname, 'client'), folder, { recursive: true });
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  const { body: document } = await gateway.request('/v1/openapi');
  await writeFile(path.join(folder, 'openapi.json'), JSON.stringify(document));
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));

  const generated = await run(folder, [
    'node_modules/openapi-typescript/bin/cli.js',
    'openapi.json',
    '-o',
    'gateway.ts',
  ]);
  t.false(generated.failed, generated.err);

  const checked = await run(folder, ['node_modules/typescript/bin/tsc', '--pretty', 'false']);
  const wrong = (await readFile(path.join(folder, 'misuse.ts'), 'utf8'))
    .split('\n')
    .flatMap((line, index) => (line.endsWith('// wrong') ? [`misuse.ts:${index + 1}`] : []));
  const refused = [...checked.out.matchAll(/^(\S+)\((\d+),\d+\): error/gm)].map(
    ([, file, line]) => `${file}:${line}`,
  );
  t.deepEqual([...new Set(refused)], wrong, checked.out);

  const { url, token } = gateway;
  const ran = await run(folder, ['program.ts'], JSON.stringify({ url, token }));
  t.false(ran.failed, ran.err);
  const { said, events, tokens, ...rest } = JSON.parse(ran.out);
  t.regex(said, /^Hello!/);
  t.regex(events, /^data: \{"id":"chatcmpl-.+data: \[DONE\]\n\n$/s);
  t.true(tokens > 0);
  t.deepEqual(rest, {
    plan: 'pro',
    deletedAt: null,
    roles: ['admin'],
    sessions: 2,
    text: 'Likes tea.',
    download: 'green',
    version: 1,
    run: ['waiting', 'completed', [null, 'said', null]],
    pointers: ['/body/name'],
    code: 'model_not_found',
    number: 4200,
  });
});
