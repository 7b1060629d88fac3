import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import test from 'ava';
import { chosenFeatures } from '../../../scripts/new-plugin/features.ts';
import { writePlugin } from '../../../scripts/new-plugin/write-plugin.ts';
import { buildPackage } from '../../../scripts/package/build-package.ts';
import { send } from '../../support/request.ts';
import { until } from '../../support/until.ts';

const TOKEN = 'acp_static_token_of_an_installed_gateway_0123456789';
/** npm says so when nothing answers, and what it needs is not in its cache. */
const AWAY = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|ECONNRESET/;
const MINUTE = 60_000;

/** What a user has: this Node before any other, and no variables of the test run's own npm. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)/.test(name)),
  ),
  PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
};

async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env, timeout: 5 * MINUTE });
    return stdout;
  } catch (failure) {
    const { stdout = '', stderr = '' } = failure as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr || String(failure)}`, {
      cause: failure,
    });
  }
}

const install = (cwd: string, ...packages: string[]) =>
  run(cwd, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages);

async function pack(folder: string, ...options: string[]): Promise<string> {
  const written = await run(folder, 'npm', 'pack', '--json', '--loglevel=error', ...options);
  const [{ filename }] = JSON.parse(written.slice(written.lastIndexOf('\n[') + 1)) as [{ filename: string }];
  return path.join(folder, filename);
}

/** Changes a file of the plugin as its author would. */
async function edit(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not say ${from}`);
  await writeFile(file, text.replace(from, to));
}

test('the packed gateway is installed, types a plugin, tests it, runs it by its package and reloads its next version', async (t) => {
  t.timeout(15 * MINUTE);
  const base = await mkdtemp(path.join(tmpdir(), 'installed-gateway-'));
  t.teardown(() => rm(base, { recursive: true, force: true }));
  const built = path.join(base, 'agent-gateway');
  await buildPackage(built);
  const gateway = await pack(built);

  // Its author: nothing but the two packages.
  const features = chosenFeatures('routes,table,grpc,kind,job,tool,node-type,page');
  await writePlugin({ name: 'weather', dir: base, features, scope: '@acme', gateway });
  const plugin = path.join(base, 'weather');
  try {
    await install(plugin);
  } catch (failure) {
    if (process.env.REQUIRE_SERVICES === '1' || !AWAY.test(String(failure))) throw failure;
    t.log('skipped: the registry of npm cannot be reached, and its cache does not hold all packages');
    return t.pass();
  }
  await run(plugin, 'npm', 'run', 'check');
  const first = await pack(plugin);

  // Two lines: few files are read, declarations are written, and the libraries are right, too.
  const small = path.join(plugin, 'small');
  await mkdir(small);
  await writeFile(
    path.join(small, 'plugin.ts'),
    "import { definePlugin } from 'agent-gateway';\nexport default definePlugin({ name: 'two', summary: 'Two lines', kernel: '^1.0.0', setup() {} });\n",
  );
  await writeFile(
    path.join(small, 'tsconfig.json'),
    '{ "extends": "agent-gateway/tsconfig.json", "include": ["*.ts"] }',
  );
  const tsc = path.join(plugin, 'node_modules/typescript/bin/tsc');
  const diagnostics = await run(small, process.execPath, tsc, '--diagnostics', '--skipLibCheck', 'false');
  const files = Number(/Files:\s+(\d+)/.exec(diagnostics)?.[1]);
  t.true(files < 1_500, `${files} files`);
  t.regex(
    await readFile(path.join(small, 'plugin.d.ts'), 'utf8'),
    /from "agent-gateway"|import\("agent-gateway"\)/,
  );
  await rm(small, { recursive: true });

  // Its operator.
  const deployment = path.join(base, 'deployment');
  await mkdir(deployment);
  await writeFile(path.join(deployment, 'package.json'), '{ "private": true }');
  // What npm would download and unpack once more: it takes away what does not belong to the gateway.
  await run(base, 'cp', '-al', path.join(plugin, 'node_modules'), deployment);
  await install(deployment, gateway);
  t.false(existsSync(path.join(deployment, 'node_modules/typescript')));
  const command = path.join(deployment, 'node_modules/.bin/saas-api');
  const added = await run(deployment, command, 'plugins', 'add', first);
  t.is(
    added,
    'weather is @acme/gateway-plugin-weather 0.1.0, and in gateway.yaml. A gateway that runs takes it by itself.\n',
  );
  t.regex(
    await run(deployment, command, 'plugins', 'list'),
    /^weather +@acme\/gateway-plugin-weather +0\.1\.0 +enabled$/m,
  );

  const child = spawn(command, ['serve'], {
    cwd: deployment,
    env: {
      PATH: env.PATH,
      NODE_ENV: 'production',
      SVC_PLUGIN_PACKAGES: '@acme/*',
      SVC_ACP_TOKEN: TOKEN,
      SVC_HOST: '127.0.0.1',
      SAAS_API_PORT: '0',
      SVC_RUNTIME_ADDR: '127.0.0.1:0',
      HUB_ADDR: '127.0.0.1:0',
      SVC_GRPC_ADDR: '127.0.0.1:0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let url = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { msg, url: at } = JSON.parse(line) as { msg?: string; url?: string };
    if (msg === 'ready') url = at!;
  });
  await until(() => url !== '' || child.exitCode !== null, MINUTE);
  const request = (where: string, more = {}) => send(`${url}${where}`, { token: TOKEN, ...more });
  const text = async () =>
    (await request('/v1/weather', { method: 'POST', body: { text: 'Sunny  again' } })).body.text;
  t.is(await text(), 'Sunny  again');
  t.is((await request('/weather')).status, 200);

  // The next version, as it was built.
  await edit(path.join(plugin, 'package.json'), '"0.1.0"', '"0.2.0"');
  await edit(
    path.join(plugin, 'dist/routes/items.js'),
    'return { id, text, created_at',
    'return { id, text: text.toUpperCase(), created_at',
  );
  t.regex(
    await run(deployment, command, 'plugins', 'add', await pack(plugin, '--ignore-scripts')),
    /weather is @acme\/gateway-plugin-weather 0\.2\.0 now\. .*\/admin\/v1\/plugins\/weather\/reload/,
  );
  t.is(await text(), 'Sunny  again');
  const reloaded = await request('/admin/v1/plugins/weather/reload', { method: 'POST' });
  t.like(reloaded.body, { state: 'active', generation: 1 });
  t.is(await text(), 'SUNNY  AGAIN');

  await run(deployment, command, 'plugins', 'remove', 'weather');
  await until(async () => (await request('/v1/weather')).status === 404);
});
