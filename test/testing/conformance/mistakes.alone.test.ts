import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkPlugin } from '../../../scripts/check-plugin/check-plugin.ts';
import { clearMistakes, isFound, MISTAKES } from './found-mistakes.ts';

/** One mistake of each kind; `mistakes.long.test.ts` has them all. */
const SAMPLE = [
  'throwing',
  'takes-route',
  'takes-point',
  'leaves-server',
  'failing',
  'off-schema',
  'deaf',
  'not-awaited',
];

test.after.always(clearMistakes);

for (const mistake of MISTAKES.filter(([{ name }]) => SAMPLE.includes(name))) {
  const [plugin, expected] = mistake;
  const line = typeof expected === 'string' ? expected : expected.source;
  test.serial(`${plugin.name}: ${line}`, (t) => isFound(t, mistake));
}

/** Checks the plugin whose `plugin.ts` has this text. */
async function checked(t: ExecutionContext, name: string, text: string): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mistakes-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, name));
  await writeFile(path.join(folder, name, 'plugin.ts'), text);
  const said: string[] = [];
  for await (const { findings } of checkPlugin(path.join(folder, name))) said.push(...findings);
  return said;
}

const START = "import { definePlugin } from 'agent-gateway';\n";
const DEFINITION = `export default definePlugin({ name: 'other', summary: 's', kernel: '^1.0.0', setup() {} });\n`;

test.serial('what cannot be loaded is one line, with its place', async (t) => {
  t.deepEqual(await checked(t, 'at-import', `${START}throw new Error('at import');\n`), [
    'at import (plugin.ts:2)',
  ]);
  t.deepEqual(await checked(t, 'renamed', START + DEFINITION), [
    'the folder renamed holds a plugin that calls itself other: give both one name',
  ]);
  t.deepEqual(await checked(t, 'platform', START + DEFINITION), [
    'the name platform is taken by a bundled plugin',
  ]);
  const [syntax, ...more] = await checked(t, 'syntax', `${START}const a = { b c };\n`);
  t.deepEqual(more, []);
  t.regex(syntax!, / \(plugin\.ts:2\)$/);
  const [missing] = await checked(
    t,
    'missing',
    `import chalk from 'chalk-is-not-there';\n${START}${DEFINITION}`,
  );
  t.regex(missing!, /Cannot find package 'chalk-is-not-there'/);
  const [wrong] = await checked(t, 'wrong', `import { rout } from 'agent-gateway';\n`);
  t.regex(wrong!, /does not provide an export named 'rout' \(plugin\.ts:1\)$/);
});
