import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPackage } from './package/build-package.ts';

/*
 * `npm run package`: makes the package `agent-gateway` in `dist/`, and packs it. Prints the path of the tarball, to be
 * installed with npm or published.
 */

const folder = fileURLToPath(new URL('../dist/agent-gateway', import.meta.url));
await buildPackage(folder);
const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--pack-destination', '..'], {
  cwd: folder,
});
const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
process.stdout.write(`${path.join(path.dirname(folder), filename)}\n`);
