import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { FEW_PLUGINS, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { available } from '../support/services.ts';

/**
 * Notes the package of each module that is loaded, by `import` or `require`, in a file of the working directory, and at
 * the end the fetch of Node. A bundle has the name of its package, with a `+` for the slash.
 */
const RECORDER = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const known = new Set();
  registerHooks({
    load(url, context, next) {
      const bundle = /\\/node_modules\\/\\.cache\\/packages\\/(.+)\\.mjs$/.exec(url)?.[1].replace('+', '/');
      const name = bundle ?? /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
      if (name !== undefined && !known.has(name)) appendFileSync('packages.txt', name + '\\n');
      known.add(name);
      return next(url, context);
    },
  });
  process.on('exit', () => {
    const isLoaded = process.moduleLoadList.includes('NativeModule internal/deps/undici/undici');
    if (isLoaded) appendFileSync('packages.txt', "node's fetch\\n");
  });`;

/** The packages that a gateway loads until it has served a request and stopped. */
async function packagesOf(t: ExecutionContext, env: Record<string, string> = {}): Promise<Set<string>> {
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(RECORDER)}`,
    ...env,
  });
  t.is((await gateway.request('/v1/me')).status, 200);
  t.is((await gateway.stop()).code, 0);
  return new Set((await readFile(path.join(folder, 'packages.txt'), 'utf8')).split('\n'));
}

/** What only some configurations use, or only what comes after the start. */
const UNUSED = [
  /^@ai-sdk\//,
  /^@aws-sdk\//,
  /^@grpc\//,
  /^@kubernetes\//,
  /^@mikro-orm\/(mariadb|mysql|postgresql)$/,
  /^@modelcontextprotocol\//,
  /^@opentelemetry\/(exporter-|otlp-|resources|sdk-)/,
  /^(bullmq|ioredis|mariadb|mysql2|pg)$/,
  /^(croner|dockerode|protobufjs|undici|node's fetch)$/,
  // Its 370 modules are needed for types only: `Type` of the foundation makes the same schemas.
  /^typebox$/,
];

test('a gateway on its defaults loads nothing that it does not use', async (t) => {
  const packages = await packagesOf(t);
  t.true(packages.has('pino'), 'what is loaded is noted');
  t.deepEqual(
    [...packages].filter((name) => UNUSED.some((pattern) => pattern.test(name))),
    [],
  );
});

test('a gateway with REDIS_URL loads ioredis and BullMQ, and no client of PostgreSQL', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const packages = await packagesOf(t, { REDIS_URL: 'redis://127.0.0.1:6379' });
  for (const name of ['ioredis', 'bullmq']) t.true(packages.has(name), name);
  t.false(packages.has('pg'));
});

/** Notes the files of this plugin that are loaded. */
const CHANNELS = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const file = /\\/plugins\\/channels\\/(.+\\.ts)$/.exec(url)?.[1];
      if (file !== undefined) appendFileSync('files.txt', file + '\\n');
      return next(url, context);
    },
  });`;

test('channels that nobody uses are routes, tables and what recognizes a cookie; the rest comes with the first one', async (t) => {
  const folder = await temporaryFolder(t);
  const gateway = await startGatewayProcess(t, folder, {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(CHANNELS)}`,
  });
  const loaded = async () => (await readFile(path.join(folder, 'files.txt'), 'utf8')).trim().split('\n');
  t.is((await gateway.request('/v1/me')).status, 200);
  t.is((await gateway.request('/v1/me', { token: null })).status, 401);
  const idle = await loaded();
  t.true(idle.includes('routes/login.ts'));
  const USED =
    /^(?:services\/(?:apps|bindings|logins|sessions|open-channels|return-to|expiry)|services\/providers\/.*|store\/(?:apps|bindings|logins))\.ts$/;
  t.deepEqual(
    idle.filter((file) => USED.test(file)),
    [],
  );
  const cookie = { cookie: `svc_session=${'0'.repeat(64)}` };
  t.is((await gateway.request('/v1/me', { token: null, headers: cookie })).status, 401);
  t.true((await loaded()).includes('services/sessions.ts'));
  t.is((await gateway.stop()).code, 0);
});

/** The first import of undici fails, as in a process that has no file descriptor left. */
const EXHAUSTED = `
  import { registerHooks } from 'node:module';
  let failed = false;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'undici' || failed) return next(specifier, context);
      failed = true;
      throw new Error('Cannot read package config: too many open files');
    },
  });`;

test('models are called again after what they need could not be loaded once', async (t) => {
  await using provider = await startFakeProvider();
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
    ...FEW_PLUGINS,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(EXHAUSTED)}`,
    LLM_API_URL: provider.url,
  });
  const body = { model: 'default', messages: [{ role: 'user', content: 'Hi' }] };
  const ask = async () => (await gateway.request('/v1/chat/completions', { method: 'POST', body })).status;
  t.is(await ask(), 500);
  t.is(await ask(), 200);
  t.is((await gateway.stop()).code, 0);
});
