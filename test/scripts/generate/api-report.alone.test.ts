import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { apiReportFiles } from '../../../scripts/generate/api-report.ts';
import { publicDeclarations } from '../../../scripts/generate/public-declarations.ts';

/** Of a package with two entries. */
const MANIFEST = JSON.stringify({
  name: 'agent-gateway',
  type: 'module',
  exports: { '.': './kernel/index.ts', './testing': './testing/index.ts' },
});

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** As the gateway's own, without the types of Node, which take long to read. */
const COMPILER = JSON.stringify({
  compilerOptions: { target: 'es2024', module: 'nodenext', lib: ['es2024'], types: [], strict: true },
});

/** The reports of a package with these two entries. */
async function reportsOf(t: ExecutionContext, kernel: string, testing: string | null = 'export {};\n') {
  const root = await mkdtemp(path.join(tmpdir(), 'api-report-test-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  await mkdir(path.join(root, 'kernel'));
  await mkdir(path.join(root, 'testing'));
  await writeFile(path.join(root, 'package.json'), MANIFEST);
  await writeFile(path.join(root, 'tsconfig.json'), COMPILER);
  await mkdir(path.join(root, 'node_modules'));
  await writeFile(path.join(root, 'kernel/index.ts'), kernel);
  if (testing !== null) await writeFile(path.join(root, 'testing/index.ts'), testing);
  return () => apiReportFiles(root, publicDeclarations(root)).map(({ render }) => render(''));
}

test('the report of the gateway names every export, each with a docblock, and no place of this machine', async (t) => {
  // As they were generated last: `npm run generated` compares them with the code.
  for (const [file, names] of [
    ['api/agent-gateway.api.md', ['definePlugin', 'Scope', 'GatewayError', 'field', 'Database']],
    ['api/agent-gateway-testing.api.md', ['startTestGateway', 'manualClock']],
  ] as const) {
    const report = await readFile(path.join(ROOT, file), 'utf8');
    for (const name of names) {
      t.regex(report, new RegExp(`^export (declare )?(const|function|class|interface|type) ${name}\\b`, 'm'));
    }
    const undocumented = report.matchAll(/^\/\/ @public \(undocumented\)\n(export .*)$/gm);
    t.deepEqual(
      [...undocumented].map(([, line]) => line),
      [],
    );
    t.false(report.includes(tmpdir()));
    t.false(report.includes(ROOT));
  }
});

test('an export without a docblock is marked, and a type that is mentioned without being exported is listed', async (t) => {
  const reports = await reportsOf(
    t,
    [
      '/** Documented. */\nexport function first(argument: Hidden): void { void argument; }',
      'export const second = 2;',
      '/** Not exported. */\ninterface Hidden {\n/** A member. */\nreadonly member: string;\n}',
    ].join('\n'),
  );
  const [report = '', testing = ''] = reports();
  t.regex(report, /\/\/ @public\nexport function first\(argument: Hidden\): void;/);
  t.regex(report, /\/\/ @public \(undocumented\)\nexport const second = 2;/);
  t.regex(report, /\/\/ @public\ninterface Hidden \{\n {4}readonly member: string;\n\}/);
  t.notRegex(testing, /first/);
  t.deepEqual(reports(), [report, testing]);
});

test('a change of the order of exports changes nothing, a change of a signature does', async (t) => {
  const a = '/** A. */\nexport const a = (x: string) => x;\n';
  const b = '/** B. */\nexport const b = 1;\n';
  const [first] = (await reportsOf(t, a + b))();
  const [second] = (await reportsOf(t, b + a))();
  const [third] = (await reportsOf(t, b + a.replace('string', 'number')))();
  t.is(first, second);
  t.not(first, third);
});

test('an entry that is not there is named', async (t) => {
  const reports = await reportsOf(t, 'export {};\n', null);
  t.throws(reports, { message: /testing\/index/ });
});
