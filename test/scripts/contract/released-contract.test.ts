import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { KERNEL_VERSION } from '../../../kernel/version.ts';
import { contractState, release, versionProblems } from '../../../scripts/contract/released-contract.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

test('the version of the kernel says what its contract has become since the last release', async (t) => {
  t.deepEqual(versionProblems(await contractState(ROOT), KERNEL_VERSION), []);
});

/** A tree with reports of this declaration, released as 1.0.0. */
async function releasedTree(t: ExecutionContext, declaration: string) {
  const root = await mkdtemp(path.join(tmpdir(), 'contract-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  await mkdir(path.join(root, 'api'));
  const write = (text: string) =>
    writeFile(path.join(root, 'api/agent-gateway.api.md'), `\`\`\`ts\n\n// @public\n${text}\n\n\`\`\`\n`);
  await writeFile(path.join(root, 'api/agent-gateway-testing.api.md'), '');
  await write(declaration);
  t.is((await contractState(root)).released, undefined);
  await release(root, '1.0.0');
  return { root, write };
}

test('a contract that changes without a version is found, and what it asks for is named', async (t) => {
  const { root, write } = await releasedTree(t, 'export interface A {\n    readonly a: string;\n}');
  t.deepEqual(versionProblems(await contractState(root), '1.0.0'), []);

  await write('export interface A {\n    readonly a: string;\n    readonly b: string;\n}');
  const [first, ...reasons] = versionProblems(await contractState(root), '1.0.0');
  t.regex(first!, /has to be 1\.1\.0 at least/);
  t.deepEqual(reasons, ['A has more lines']);
  t.deepEqual(versionProblems(await contractState(root), '1.1.0'), []);

  await write('export interface A {\n    readonly a: number;\n}');
  t.regex(versionProblems(await contractState(root), '1.9.0')[0]!, /has to be 2\.0\.0 at least/);
  await writeFile(path.join(root, 'api/compatible.json'), '{"A":"nobody reads it"}');
  t.deepEqual(versionProblems(await contractState(root), '1.1.0'), []);

  await release(root, '1.1.0');
  t.like(await contractState(root), { released: '1.1.0', changes: [], least: '1.1.0' });
});
