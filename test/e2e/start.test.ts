import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { freshDatabase } from '../support/databases.ts';
import {
  type Ended,
  FEW_PLUGINS,
  runGatewayProcess,
  startGatewayProcess,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { until } from '../support/until.ts';

/** A failed start says so in a sentence: no stack, and exit code 1. */
function refused(t: ExecutionContext, { code, stderr }: Ended, ...sentences: readonly (string | RegExp)[]) {
  t.is(code, 1);
  t.notRegex(stderr, /^\s+at /m, 'no stack for the operator');
  t.notRegex(stderr, /Node\.js v/);
  for (const sentence of sentences) {
    if (typeof sentence === 'string') t.true(stderr.includes(sentence), `${sentence} in ${stderr}`);
    else t.regex(stderr, sentence);
  }
}

test('the first chat is the last that a start shows, when it can be asked', async (t) => {
  const folder = await temporaryFolder(t);
  const shown = path.join(folder, 'shown.txt');
  await using file = await open(shown, 'w');
  const child = spawn(process.execPath, [path.resolve('kernel/main.js')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      SVC_HOST: '127.0.0.1',
      SAAS_API_PORT: '0',
      SVC_RUNTIME_ADDR: '127.0.0.1:0',
      HUB_ADDR: '127.0.0.1:0',
      SVC_GRPC_ADDR: '127.0.0.1:0',
    },
    stdio: ['ignore', file.fd, file.fd],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await until(async () => (await readFile(shown, 'utf8')).includes('A first chat'), 60_000);
  const text = await readFile(shown, 'utf8');
  const ready = text.indexOf('"msg":"ready"');
  t.true(ready >= 0 && ready < text.indexOf('A first chat'));
});

test('with no configuration at all it runs, and prints a first chat that works', async (t) => {
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, { SVC_ACP_TOKEN: '' });
  const token = (await readFile(path.join(folder, 'data/acp-token'), 'utf8')).trim();
  t.is((await stat(path.join(folder, 'data/acp-token'))).mode & 0o777, 0o600);
  const chat = { model: 'default', messages: [{ role: 'user', content: 'hello' }] };
  const answer = await gateway.request('/v1/chat/completions', { method: 'POST', token, body: chat });
  t.is(answer.status, 200);
  t.regex(answer.body.choices[0].message.content, /demo model/);
  const { stderr, stdout, code } = await gateway.stop();
  t.is(code, 0);
  t.true(stderr.includes(`Bearer ${token}`) && stderr.includes(`curl -N ${gateway.url}/v1/chat/completions`));
  t.false(stdout.includes(token));
});

test('a token that the operator has set is not printed, whatever reads the output', async (t) => {
  const token = 'acp_of_the_operator_and_nobody_else_0123';
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
    ...FEW_PLUGINS,
    SVC_ACP_TOKEN: token,
  });
  const { stderr, stdout } = await gateway.stop();
  t.true(stderr.includes('-H "Authorization: Bearer $SVC_ACP_TOKEN"'));
  t.false(`${stdout}${stderr}`.includes(token));
});

test('a port that is taken is told with address and variable', async (t) => {
  const holder = net.createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as net.AddressInfo;
  const end = await runGatewayProcess(t, await temporaryFolder(t), {
    ...FEW_PLUGINS,
    SAAS_API_PORT: `${port}`,
  });
  refused(t, end, `127.0.0.1:${port}`, 'taken', 'SAAS_API_PORT');
});

test('all variables that are wrong are told together, and no secret among their values', async (t) => {
  const end = await runGatewayProcess(t, await temporaryFolder(t), {
    SAAS_API_PORT: 'eighty',
    SVC_DRAIN_TIMEOUT: 'soon',
    SVC_ALLOW_ANONYMOUS: 'perhaps',
    SVC_TRUSTED_PROXIES: 'the-proxy',
    DATABASE_URL: 'nosql://user:s3cret-in-url@host/db',
    SVC_ACP_TOKEN: 's3cret with a space',
    SVC_JWT_JWKS_URL: 'not-a-url',
  });
  refused(t, end, 'SAAS_API_PORT', 'SVC_DRAIN_TIMEOUT', 'SVC_ALLOW_ANONYMOUS', 'SVC_TRUSTED_PROXIES');
  refused(t, end, 'DATABASE_URL', 'SVC_ACP_TOKEN', 'SVC_JWT_JWKS_URL');
  t.notRegex(end.stderr + end.stdout, /s3cret/);
});

for (const [name, url] of [
  ['PostgreSQL', 'postgres://alice:s3cret@127.0.0.1:1/gateway'],
  ['MariaDB', 'mysql://alice:s3cret@127.0.0.1:1/gateway'],
] as const) {
  test(`${name} that cannot be reached is told as DATABASE_URL without its password`, async (t) => {
    const end = await runGatewayProcess(t, await temporaryFolder(t), { ...FEW_PLUGINS, DATABASE_URL: url });
    refused(t, end, 'DATABASE_URL', '127.0.0.1:1', 'ECONNREFUSED');
    t.notRegex(end.stderr + end.stdout, /s3cret/);
  });
}

test('a database server is told by the variable that names it', async (t) => {
  const MYSQL_DSN = 'alice:s3cret@tcp(127.0.0.1:1)/gateway';
  const end = await runGatewayProcess(t, await temporaryFolder(t), { ...FEW_PLUGINS, MYSQL_DSN });
  refused(t, end, 'at MYSQL_DSN=', '127.0.0.1:1', 'ECONNREFUSED');
  t.notRegex(end.stderr + end.stdout, /s3cret/);
});

test('a database that does not exist is told by its name', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const DATABASE_URL = fresh.environment
    .DATABASE_URL!.replace('@', ':s3cret@')
    .replace(/\/[^/]*$/, '/nowhere_to_be_found');
  const end = await runGatewayProcess(t, await temporaryFolder(t), { ...FEW_PLUGINS, DATABASE_URL });
  refused(t, end, 'DATABASE_URL', 'nowhere_to_be_found');
  t.notRegex(end.stderr + end.stdout, /s3cret/);
});

for (const token of ['', 'acp_a_token_of_the_operator']) {
  const title = token === '' ? 'without a token' : 'with a token';
  test(`a data folder that cannot be written is told by its path and variable, ${title}`, async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(path.join(folder, 'file'), 'in the way');
    const env = { ...FEW_PLUGINS, SVC_DATA_DIR: 'file/data', SVC_ACP_TOKEN: token };
    const end = await runGatewayProcess(t, folder, env);
    refused(t, end, 'file/data', 'ENOTDIR', 'SVC_DATA_DIR');
  });
}

test('with a database elsewhere, a data folder that cannot be written is told too', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'file'), 'in the way');
  const end = await runGatewayProcess(t, folder, {
    ...FEW_PLUGINS,
    SVC_DATA_DIR: 'file/data',
    SVC_ACP_TOKEN: 'acp_a_token_of_the_operator',
    DATABASE_URL: 'sqlite:gateway.db',
  });
  refused(t, end, 'file/data', 'audit');
});

test('a gateway.yaml with mistakes is told with the line of each', async (t) => {
  const folder = await temporaryFolder(t);
  const yaml = 'plugins:\n  agent-engine:\n    enabled: perhaps\n  platform:\n    onFailur: abort\n';
  await writeFile(path.join(folder, 'gateway.yaml'), yaml);
  refused(t, await runGatewayProcess(t, folder), 'gateway.yaml:3', 'gateway.yaml:5', 'onFailure');
});

test('a gateway.yaml that is no YAML is told with its line', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'gateway.yaml'), 'plugins:\n  platform: {enabled: true\n');
  refused(t, await runGatewayProcess(t, folder), /gateway\.yaml:[23]/);
});

test('a plugin that fails stops the start where gateway.yaml says onFailure: abort, and only there', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'more/weather'), { recursive: true });
  const plugin = `export default { name: 'weather', summary: 'fails', kernel: '^1.0.0',
    setup() { throw new Error('there is no weather today'); } };`;
  await writeFile(path.join(folder, 'more/weather/plugin.ts'), plugin);
  const env = {
    SVC_PLUGIN_DIRS: 'more',
    SVC_PLUGINS: 'platform,weather',
    SVC_ACP_TOKEN: 'acp_a_token_of_the_operator',
  };

  const gateway = await startGatewayProcess(t, folder, env);
  const { body } = await gateway.request('/health/ready');
  t.deepEqual(body.degraded, [{ name: 'weather', state: 'failed' }]);
  t.is(body.status, 'ready');
  await gateway.stop();

  await writeFile(path.join(folder, 'gateway.yaml'), 'plugins:\n  weather:\n    onFailure: abort\n');
  refused(t, await runGatewayProcess(t, folder, env), 'weather', 'there is no weather today');
});

test('a plugin folder that is not there is told by its path and variable', async (t) => {
  const end = await runGatewayProcess(t, await temporaryFolder(t), { SVC_PLUGIN_DIRS: 'not-there' });
  refused(t, end, 'not-there', 'SVC_PLUGIN_DIRS');
});

test('in production a token that may be guessed is warned of', async (t) => {
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, {
    ...FEW_PLUGINS,
    NODE_ENV: 'production',
    SVC_ACP_TOKEN: 'admin',
  });
  const isWarning = ({ level, msg }: Readonly<Record<string, unknown>>) =>
    level === 'warn' && /^SVC_ACP_TOKEN has fewer than 20 characters/.test(String(msg));
  await t.notThrowsAsync(until(() => gateway.logs().some(isWarning)));
});

test('in production no token is made: there is none, and nobody is the operator', async (t) => {
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, {
    ...FEW_PLUGINS,
    NODE_ENV: 'production',
    SVC_ACP_TOKEN: '',
  });
  await t.throwsAsync(stat(path.join(folder, 'data/acp-token')), { code: 'ENOENT' });
  for (const token of ['', 'undefined', 'acp_', null]) {
    t.is((await gateway.request('/v1/me', { token })).status, 401);
    t.is((await gateway.request('/admin/v1/bootstrap', { method: 'POST', token, body: {} })).status, 401);
  }
  const { stderr, code } = await gateway.stop();
  t.is(code, 0);
  t.is(stderr, '');
});
