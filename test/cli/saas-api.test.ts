import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { startTestGateway } from '../../testing/index.ts';
import { eachDatabase } from '../support/databases.ts';
import { FEW_PLUGINS, temporaryFolder } from '../support/gateway-process.ts';
import { send } from '../support/request.ts';
import { outcomeOf, ROOT, run, USERS_PATH } from './command.ts';

const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};

/** Addresses of this machine that nothing holds, chosen by the system. */
const FREE = {
  SVC_HOST: '127.0.0.1',
  SAAS_API_PORT: '0',
  SVC_RUNTIME_ADDR: '127.0.0.1:0',
  HUB_ADDR: '127.0.0.1:0',
  SVC_GRPC_ADDR: '127.0.0.1:0',
};

test('the command is the one that package.json names', async (t) => {
  const { bin } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  t.deepEqual(bin, { 'saas-api': './cli/saas-api' });
});

test('npx finds it in the folder of the package', async (t) => {
  const { code, stdout } = await run(
    t,
    ROOT,
    ['--no-install', 'saas-api', '--version'],
    { HOME: process.env.HOME ?? '' },
    'npx',
  );
  t.is(code, 0);
  t.is(stdout, `${version}\n`);
});

for (const args of [['--help'], ['-h'], ['help'], ['serve', '--help'], ['check', '-h']]) {
  test(`${args.join(' ')} tells the commands, and does none`, async (t) => {
    const { code, stdout, stderr } = await run(t, await temporaryFolder(t), args);
    t.is(code, 0);
    t.is(stderr, '');
    for (const command of ['serve', 'migrate', 'openapi', 'plugins', 'check'])
      t.regex(stdout, new RegExp(`^ {2}${command} `, 'm'));
  });
}

for (const [args, sentence] of [
  [['sevre'], 'saas-api has no command sevre, did you mean serve?'],
  [['--migrate-only'], 'saas-api has no command --migrate-only'],
  [['constructor'], 'saas-api has no command constructor'],
  [['plugins', 'ad', 'x'], 'saas-api plugins is followed by list, or add <package>, or remove <plugin>'],
  [['plugins', 'add'], 'saas-api plugins is followed by list, or add <package>, or remove <plugin>'],
  [['check', 'everything'], 'saas-api check takes no arguments, and got everything'],
] as const) {
  test(`${args.join(' ')} is refused with 2 and the commands`, async (t) => {
    const { code, stdout, stderr } = await run(t, await temporaryFolder(t), args);
    t.is(code, 2);
    t.is(stdout, '');
    t.true(stderr.startsWith(sentence));
    t.regex(stderr, /Usage: saas-api/);
  });
}

test('without Node 24 it says which it found, and what brings the right one', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'cli'));
  await mkdir(path.join(folder, 'bin'));
  const command = path.join(folder, 'cli/saas-api');
  await copyFile(path.join(ROOT, 'cli/saas-api'), command);
  const node = path.join(folder, 'bin/node');
  await writeFile(node, '#!/bin/sh\necho 20.20.2\n');
  await chmod(node, 0o755);
  const old = await run(t, folder, [], { PATH: `${path.join(folder, 'bin')}:/usr/bin:/bin` }, command);
  t.is(old.code, 1);
  t.regex(old.stderr, /needs Node 24 or newer, and found 20\.20\.2: run npm ci in /);
});

test('installed as a package it takes the Node that is installed beside it, or says how to get one', async (t) => {
  const project = await temporaryFolder(t);
  const modules = path.join(project, 'node_modules');
  const command = path.join(modules, 'agent-gateway/cli/saas-api');
  for (const folder of ['agent-gateway/cli', 'node/bin', '.bin'])
    await mkdir(path.join(modules, folder), { recursive: true });
  await copyFile(path.join(ROOT, 'cli/saas-api'), command);
  const write = (file: string, script: string) => writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await write(path.join(modules, '.bin/node'), 'echo 20.20.2');
  const PATH = `${path.join(modules, '.bin')}:/usr/bin:/bin`;
  const without = await run(t, project, [], { PATH }, command);
  t.is(without.code, 1);
  t.true(without.stderr.includes(`run npm install node@24 in ${await realpath(project)}, which brings it`));
  const beside = path.join(modules, 'node/bin/node');
  await write(beside, '[ "$1" = --print ] && echo 24.21.0 || echo "the Node beside: $*"');
  const { code, stdout } = await run(t, project, ['check'], { PATH }, command);
  t.is(code, 0);
  t.regex(stdout, /^the Node beside: .*agent-gateway\/cli\/main\.js check$/m);
});

for (const args of [[], ['serve']]) {
  test(`${args.join(' ') || 'no command'} serves until it is told to stop, in the process that was started`, async (t) => {
    const folder = await temporaryFolder(t);
    // As npm links it.
    await symlink(path.join(ROOT, 'cli/saas-api'), path.join(folder, 'saas-api'));
    const child = spawn(path.join(folder, 'saas-api'), args, {
      cwd: folder,
      env: { PATH: USERS_PATH, ...FREE, ...FEW_PLUGINS },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    const said = text(child.stderr);
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
      if (msg !== 'ready') continue;
      t.is((await send(`${url}/health/ready`)).status, 200);
      // Node's own answer is a debugger that anybody on this machine may use.
      child.kill('SIGUSR1');
      t.is((await send(`${url}/health/ready`)).status, 200);
      break;
    }
    const executable = await readFile(`/proc/${child.pid}/cmdline`, 'utf8');
    t.regex(executable, /node_modules\/node\/bin\/node\0--expose-gc\0/);
    child.stdout.resume();
    child.kill('SIGTERM');
    t.deepEqual(await ended, [0, null]);
    t.notRegex(await said, /Debugger listening/);
  });
}

eachDatabase(test, 'migrate makes the tables, and check finds the database', async (t, fresh) => {
  const folder = await temporaryFolder(t);
  const { code, stdout } = await run(t, folder, ['migrate'], fresh.environment);
  t.is(code, 0);
  t.regex(stdout, /every table has its newest form/);
  const [row] = await fresh.ask('select count(*) as n from tenants');
  t.is(Number(row?.n), 1);
  const checked = await outcomeOf(folder, ['check'], fresh.environment);
  t.is(checked.code, 0, checked.stdout);
  t.regex(checked.stdout, new RegExp(`^ok {7}database: ${fresh.family}`, 'm'));
});

test('openapi prints what a gateway of the same deployment serves, and leaves nothing', async (t) => {
  const folder = await temporaryFolder(t);
  const pages = path.join(ROOT, 'test/e2e/openapi/pages');
  const env = { SAAS_STATIC_DIR: pages, ADMIN_API_KEY: 'a-key-of-an-administrator' };
  const { code, stdout, stderr } = await run(t, folder, ['openapi'], env);
  t.is(code, 0, stderr);
  t.deepEqual(await readdir(folder), []);
  const gateway = await startTestGateway({ env });
  t.teardown(gateway.stop);
  t.deepEqual(JSON.parse(stdout), (await gateway.request('/v1/openapi')).body);
});

test('openapi needs no server and no free port, and begins nothing that plugins do by themselves', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'more/busy'), { recursive: true });
  await writeFile(
    path.join(folder, 'more/busy/plugin.ts'),
    `import { writeFileSync } from 'node:fs';
    import { access, definePlugin, route, Type } from 'agent-gateway';
    const write = (name) => async () => writeFileSync(name, '');
    export default definePlugin({
      name: 'busy', summary: 'works by itself', kernel: '^1.0.0',
      setup(scope) {
        scope.every('work', 10, write('task'), { immediately: true });
        scope.drain('end', write('drain'));
        scope.route(route({ method: 'GET', path: '/busy', access: access.public(), summary: 'Busy',
          schema: { responses: { 200: Type.String() } }, handle: () => 'busy' }));
      },
    });`,
  );
  const holder = net.createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  let connections = 0;
  holder.on('connection', (socket) => {
    connections += 1;
    socket.destroy();
  });
  const { port } = holder.address() as net.AddressInfo;
  const { code, stdout, stderr } = await run(t, folder, ['openapi'], {
    SVC_HOST: '127.0.0.1',
    SAAS_API_PORT: `${port}`,
    DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/x`,
    REDIS_URL: `redis://127.0.0.1:${port}`,
    OBJECT_STORE_URL: `s3://bucket?endpoint=http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    SVC_PLUGIN_DIRS: 'more',
  });
  t.is(code, 0, stderr);
  t.true('/busy' in JSON.parse(stdout).paths);
  t.is(connections, 0);
  t.deepEqual(await readdir(folder), ['more']);
});

test('openapi of a deployment that would not start says why, and prints no document', async (t) => {
  const folder = await temporaryFolder(t);
  const variable = await outcomeOf(folder, ['openapi'], { SVC_DRAIN_TIMEOUT: 'soon' });
  t.is(variable.code, 1);
  t.is(variable.stdout, '');
  t.regex(variable.stderr, /SVC_DRAIN_TIMEOUT/);
  const plugin = await run(t, folder, ['openapi'], { SANDBOX_MODE: 'local' });
  t.is(plugin.code, 1);
  t.is(plugin.stdout, '');
  t.regex(plugin.stderr, /agent-engine: .*SVC_ALLOW_LOCAL_SANDBOX/);
});
