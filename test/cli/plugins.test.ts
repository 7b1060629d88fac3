import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { temporaryFolder } from '../support/gateway-process.ts';
import { outcomeOf, ROOT, run } from './command.ts';

/** A package without dependencies, which npm installs without asking anybody. */
async function writePackage(folder: string, plugin: string, version = '1.0.0'): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: `@acme/gateway-plugin-${plugin}`, version, type: 'module', exports: './main.ts' }),
  );
  await writeFile(
    path.join(folder, 'main.ts'),
    `import { definePlugin } from 'agent-gateway';
     export default definePlugin({ name: '${plugin}', summary: 's', kernel: '^1.0.0', setup() {} });`,
  );
  return folder;
}

const env = { HOME: process.env.HOME ?? '', PATH: process.env.PATH ?? '' };

test('a plugin is added, listed and removed, and the rest of gateway.yaml stays', async (t) => {
  const folder = await temporaryFolder(t);
  const deployment = path.join(folder, 'deployment');
  await mkdir(deployment);
  await writeFile(path.join(deployment, 'gateway.yaml'), '# Mine\nplugins:\n  pages: { enabled: false }\n');
  await writePackage(path.join(folder, 'weather'), 'weather');
  const added = await run(t, deployment, ['plugins', 'add', '../weather'], env);
  t.is(added.code, 0, added.stderr);
  t.is(
    added.stdout,
    'weather is @acme/gateway-plugin-weather 1.0.0, and in gateway.yaml. A gateway that runs takes it by itself.\n',
  );
  const written = await readFile(path.join(deployment, 'gateway.yaml'), 'utf8');
  t.regex(
    written,
    /^# Mine\n[\s\S]*pages: \{ enabled: false \}\n {2}weather:\n {4}package: .@acme\/gateway-plugin-weather.\n$/,
  );
  const { stdout } = await outcomeOf(deployment, ['plugins', 'list'], env);
  t.regex(stdout, /^weather +@acme\/gateway-plugin-weather +1\.0\.0 +enabled$/m);
  t.regex(stdout, /^pages +bundled +- +disabled in gateway\.yaml$/m);

  const removed = await outcomeOf(deployment, ['plugins', 'remove', 'weather'], env);
  t.is(removed.code, 0, removed.stderr);
  t.notRegex(await readFile(path.join(deployment, 'gateway.yaml'), 'utf8'), /weather/);
  t.notRegex(await readFile(path.join(deployment, 'package.json'), 'utf8'), /weather/);
  t.regex(
    (await outcomeOf(deployment, ['plugins', 'remove', 'weather'], env)).stderr,
    /has no entry of weather/,
  );
});

test('a removal in which npm failed can be repeated', async (t) => {
  const folder = await temporaryFolder(t);
  await writePackage(path.join(folder, 'weather'), 'weather');
  t.is((await run(t, folder, ['plugins', 'add', './weather'], env)).code, 0);
  const broken = path.join(folder, 'bin');
  await mkdir(broken);
  await writeFile(path.join(broken, 'npm'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const remove = (PATH: string) => run(t, folder, ['plugins', 'remove', 'weather'], { ...env, PATH });
  t.regex((await remove(`${broken}:${env.PATH}`)).stderr, /^npm uninstall failed/);
  const repeated = await remove(env.PATH);
  t.is(repeated.code, 0, repeated.stderr);
  for (const file of ['gateway.yaml', 'package.json'])
    t.notRegex(await readFile(path.join(folder, file), 'utf8'), /weather/);
});

test('a tarball is added by the name that npm pack prints, and by its address', async (t) => {
  const folder = await temporaryFolder(t);
  const source = await writePackage(path.join(folder, 'weather'), 'weather');
  const { stdout } = await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: source,
  });
  const tarball = await readFile(path.join(folder, stdout.trim()));
  const server = createServer((_, response) => response.end(tarball)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const spec of [stdout.trim(), `http://127.0.0.1:${port}/weather.tgz`]) {
    const added = await run(t, folder, ['plugins', 'add', spec], env);
    t.is(added.code, 0, added.stderr);
    t.regex(added.stdout, /^weather is @acme\/gateway-plugin-weather 1\.0\.0/);
    t.is((await run(t, folder, ['plugins', 'remove', 'weather'], env)).code, 0);
  }
});

test('what cannot run is told, and leaves no entry', async (t) => {
  const folder = await temporaryFolder(t);
  const deployment = path.join(folder, 'deployment');
  await mkdir(deployment);
  const add = (spec: string, more = {}) => run(t, deployment, ['plugins', 'add', spec], { ...env, ...more });
  await writePackage(path.join(folder, 'taken'), 'workflow');
  t.regex(
    (await add('../taken')).stderr,
    /its plugin cannot run: .*\/plugins\/workflow has the name workflow/,
  );
  await writePackage(path.join(folder, 'weather'), 'weather');
  t.regex(
    (await add('../weather', { NODE_ENV: 'production' })).stderr,
    /^@acme\/gateway-plugin-weather may not run: in production SVC_PLUGIN_PACKAGES lists/,
  );
  await writeFile(path.join(folder, 'weather/main.ts'), 'export const a = 1;');
  t.regex((await add('../weather')).stderr, /is no plugin: its default export is no definition/);
  await rm(path.join(folder, 'weather/main.ts'));
  t.regex(
    (await add('../weather')).stderr,
    /cannot be imported: its package\.json exports .*, which is not there: build it \(npm run build\), or run its sources with "path"/,
  );
  t.regex((await add('../not-there.tgz')).stderr, /^npm install failed in .*\n[\s\S]*ENOENT/);
  t.false((await readdir(deployment)).includes('gateway.yaml'));
  const own = await outcomeOf(ROOT, ['plugins', 'add', 'weather'], env);
  t.regex(own.stderr, /is the folder of the gateway itself/);
});
