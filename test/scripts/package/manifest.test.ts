import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { packageManifest } from '../../../scripts/package/manifest.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const own = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));

test('each contract of a bundled plugin can be imported by the name of the gateway, and resolves in the repository', async (t) => {
  const plugins = await readdir(path.join(root, 'plugins'));
  const contracts = plugins.filter((name) => existsSync(path.join(root, 'plugins', name, 'contract.ts')));
  const exported = Object.keys(own.exports).filter((name) => name.startsWith('./contracts/'));
  t.deepEqual(
    exported,
    contracts.sort().map((name) => `./contracts/${name}`),
  );
  for (const name of contracts) {
    t.is(
      import.meta.resolve(`agent-gateway/contracts/${name}`),
      new URL(`../../../plugins/${name}/contract.ts`, import.meta.url).href,
    );
  }
});

test('the package exports the same names as the repository, as JavaScript with declarations', (t) => {
  const manifest = packageManifest(own, new Set(['koa'])) as Record<string, Record<string, unknown>>;
  t.deepEqual(Object.keys(manifest.exports!), Object.keys(own.exports));
  t.deepEqual(manifest.exports!['.'], { types: './kernel/index.d.ts', default: './kernel/index.js' });
  t.is(manifest.dependencies!['@types/koa'], own.devDependencies['@types/koa']);
  t.is(manifest.dependencies!['@types/dockerode'], undefined);
  t.is(manifest.private, undefined);
});
