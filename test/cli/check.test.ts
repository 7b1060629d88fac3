import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import test from 'ava';
import pino from 'pino';
import { systemClock } from '../../foundation/base/clock.ts';
import { openDatabase } from '../../foundation/data/database.ts';
import { registerKernelTables } from '../../foundation/gateway-tables.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import { startS3Server } from '../support/s3-server.ts';
import { available } from '../support/services.ts';
import { outcomeOf, run } from './command.ts';

const MODEL = (name: string, spec: string) =>
  `apiVersion: svc/v1\nkind: Model\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;

test('a folder with nothing in it is a deployment, and stays empty', async (t) => {
  const folder = await temporaryFolder(t);
  // The command itself: what it prints is its outcome, and nothing beside it.
  const { code, stdout, stderr } = await run(t, folder, ['check']);
  t.is(code, 0);
  t.is(stderr, '');
  t.deepEqual(stdout.replace(/(plugins: ).*platform.*/, '$1…').split('\n'), [
    'ok       variables: the gateway’s own are valid',
    'ok       gateway.yaml: not there: all defaults',
    'ok       plugins: …',
    'ok       agents.d: not there: no resources',
    'ok       database: sqlite: data/gateway.db will be made in data',
    'ok       redis: not configured',
    'ok       objects: files in data/objects',
    'ok       data folder: ./data',
    '',
  ]);
  t.deepEqual(await readdir(folder), []);
});

test('all variables that are wrong are told, and what cannot be looked at then', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    SAAS_API_PORT: 'eighty',
    SVC_ACP_TOKEN: 's3cret with a space',
  });
  t.is(code, 1);
  t.regex(
    stdout,
    /^wrong {4}variables\n {2}SAAS_API_PORT: "eighty" is not a whole number\n {2}SVC_ACP_TOKEN: /m,
  );
  t.regex(stdout, /^skipped {2}plugins/m);
  t.notRegex(stdout, /s3cret/);
});

test('the file of the database of jobs is looked at, and not made', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'note'), 'This is no database, whatever its name may say.'.repeat(100));
  for (const [file, told] of [
    ['jobs/jobs.db', undefined],
    ['note/jobs.db', /^wrong {4}plugins\n {2}execution: SVC_SQLITE_DB: .*note is no folder/m],
    ['note', /^wrong {4}plugins\n {2}execution: SVC_SQLITE_DB: .*not a database/m],
  ] as const) {
    const { code, stdout } = await outcomeOf(folder, ['check'], { SVC_SQLITE_DB: file });
    t.is(code, told === undefined ? 0 : 1, stdout);
    if (told !== undefined) t.regex(stdout, told);
  }
  t.deepEqual(await readdir(folder), ['note']);
});

test('a database that is newer than the kernel or a plugin is wrong, in the words of a start', async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'gateway.db');
  const database = await openDatabase({
    driver: 'sqlite',
    file,
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  await registerKernelTables(database);
  const newer = (owner: string) =>
    database
      .system()
      .execute('insert into schema_migrations (owner, name) values (?, ?)', [owner, '900-later']);
  const check = () => outcomeOf(folder, ['check'], { SVC_DATA_DIR: '.' });
  for (const owner of ['platform', 'kernel.jobs']) {
    await newer(owner);
    const { code, stdout } = await check();
    t.is(code, 1);
    const told = `The database is newer than this build: ${owner} has the migration 900-later, which this build does not know: run the version that has it, or a newer one`;
    t.true(stdout.includes(`wrong    database\n  ${told}\n`), stdout);
  }
  await database.close();
});

test('the form of an address is advised in full', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    DATABASE_URL: 'pg at s3cret',
  });
  t.is(code, 1);
  t.regex(
    stdout,
    /DATABASE_URL: is not the URL of a database, write postgres:\/\/user:password@host:5432\/database$/m,
  );
  t.notRegex(stdout, /s3cret/);
});

test('a key of JWTs and a plugin folder that cannot be read are wrong, beside what is wrong elsewhere', async (t) => {
  const folder = await temporaryFolder(t);
  const env = { REDIS_URL: 'redis://127.0.0.1:1' };
  for (const [variable, value, told] of [
    ['SVC_JWT_PUBLIC_KEY', '/no/key.pem', 'SVC_JWT_PUBLIC_KEY: is neither a PEM nor a file that can be read'],
    [
      'SVC_PLUGIN_DIRS',
      '/no/plugins',
      'SVC_PLUGIN_DIRS: the plugin folder /no/plugins cannot be read (ENOENT)',
    ],
  ] as const) {
    const { code, stdout, stderr } = await outcomeOf(folder, ['check'], { ...env, [variable]: value });
    t.is(code, 1);
    t.is(stderr, '');
    t.true(stdout.startsWith(`wrong    variables\n  ${told}\n`), stdout);
    t.regex(stdout, /^skipped {2}plugins/m);
    t.regex(stdout, /^wrong {4}redis$/m);
    const listed = await outcomeOf(folder, ['openapi'], { [variable]: value });
    t.is(listed.stderr, `The deployment could not be described:\n${told}\n`);
  }
});

test('files of TLS that cannot be read are wrong, and their variables are named', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    SVC_GRPC_TLS_CERT: '/no/c.pem',
    SVC_GRPC_TLS_KEY: '/no/k.pem',
  });
  t.is(code, 1);
  t.regex(stdout, /^wrong {4}TLS of gRPC\n {2}SVC_GRPC_TLS_CERT: \/no\/c\.pem cannot be read \(ENOENT\)$/m);
  t.regex(stdout, /^ {2}SVC_GRPC_TLS_KEY: \/no\/k\.pem cannot be read/m);
  t.is(stdout.match(/c\.pem/g)?.length, 1);
});

test('mistakes in gateway.yaml and in settings of plugins are told with file and line', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(
    path.join(folder, 'gateway.yaml'),
    'plugins:\n  agent-engine:\n    config:\n      timeout: soon\n  nosuch: {}\n  platfrom: {}\n',
  );
  const { code, stdout } = await outcomeOf(folder, ['check'], { ADMIN_API_KEY: 'short' });
  t.is(code, 1);
  t.regex(
    stdout,
    /agent-engine: gateway\.yaml:4: plugins\.agent-engine\.config\.timeout: "soon" is not a duration/,
  );
  t.regex(stdout, /runtime: ADMIN_API_KEY: must be at least 16 characters/);
  t.regex(stdout, /gateway\.yaml:5: plugins\.nosuch: no folder holds such a plugin$/m);
  t.regex(
    stdout,
    /gateway\.yaml:6: plugins\.platfrom: no folder holds such a plugin, did you mean platform\?$/m,
  );

  await writeFile(path.join(folder, 'gateway.yaml'), 'plugins:\n  platform:\n    enabled: perhaps\n');
  const other = await outcomeOf(folder, ['check'], { SVC_CONFIG: 'gateway.yaml' });
  t.is(other.code, 1);
  t.regex(other.stdout, /gateway\.yaml:3: plugins\.platform\.enabled: /);

  const misspelt = await outcomeOf(await temporaryFolder(t), ['check'], { SVC_PLUGINS: 'platfrom' });
  t.is(misspelt.code, 1);
  t.regex(misspelt.stdout, /^ {2}SVC_PLUGINS: there is no plugin platfrom, did you mean platform\?$/m);
});

test('mistakes in agents.d are told with file and line, a missing secret too, and no secret that is there', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'models/team'), { recursive: true });
  const save = (name: string, text: string) => writeFile(path.join(folder, 'models', name), text);
  await save(
    'good.yaml',
    MODEL('good', '{provider: openai, model: m, base_url: "http://h/v1", api_key: env:GOOD}'),
  );
  await save(
    'team/typo.yaml',
    `${MODEL('one', '{provider: demo, model: demo}')}---\n${MODEL('two', 'modell: x')}`,
  );
  await save(
    'key.yaml',
    MODEL('key', '{provider: openai, model: m, base_url: "http://h/v1", api_key: env:NOT_SET}'),
  );
  await save('broken.yaml', 'kind: [');
  const { code, stdout } = await outcomeOf(folder, ['check'], {
    SVC_AGENTS_DIR: 'models',
    GOOD: 'a-secret-that-is-there',
  });
  t.is(code, 1);
  t.regex(stdout, /^wrong {4}models$/m);
  t.regex(
    stdout,
    /^ {2}models\/team\/typo\.yaml:13: \/spec\/modell: is not known here, did you mean model\?$/m,
  );
  t.regex(stdout, /^ {2}models\/key\.yaml:\d+: .*env:NOT_SET is not set$/m);
  t.regex(stdout, /^ {2}models\/broken\.yaml:\d/m);
  t.notRegex(stdout, /good\.yaml|a-secret-that-is-there/);
});

test('a file and a folder that variables name and that are not there are told as such', async (t) => {
  const named = { SVC_AGENTS_DIR: 'modles', SVC_CONFIG: 'gatway.yaml' };
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], named);
  t.is(code, 0);
  t.regex(stdout, /^ok {7}modles: not there, although SVC_AGENTS_DIR names it: no resources$/m);
  t.regex(stdout, /^ok {7}gatway.yaml: not there, although SVC_CONFIG names it: all defaults$/m);
});

test('a misspelled kind in agents.d is wrong, one of a plugin that is left out is not', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  const file = path.join(folder, 'agents.d/one.yaml');
  const model = MODEL('one', '{provider: demo, model: demo}');
  await writeFile(file, model.replace('kind: Model', 'kind: Modle'));
  const misspelled = await outcomeOf(folder, ['check']);
  t.is(misspelled.code, 1);
  t.regex(
    misspelled.stdout,
    /^ {2}agents\.d\/one\.yaml:2: \/kind: waits: no plugin registers the kind Modle; did you mean Model\?$/m,
  );
  await writeFile(file, model);
  const without = await outcomeOf(folder, ['check'], { SVC_PLUGINS: 'hub' });
  t.is(without.code, 0);
  t.regex(without.stdout, /^ok {7}agents\.d: 0 resources, 1 wait for plugins that do not run$/m);
});

test('an agent of agents.d whose model is not there is told, and is no mistake', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  const agent = (name: string, model: string) =>
    `apiVersion: svc/v1\nkind: Agent\nmetadata: { name: ${name} }\nspec: { type: chat_model_agent, model: { primary: ${model} } }\n`;
  const model = MODEL('quick', '{provider: demo, model: demo}');
  await writeFile(
    path.join(folder, 'agents.d/all.yaml'),
    [model, agent('right', 'quick'), agent('wrong', 'qiuck')].join('---\n'),
  );
  const { code, stdout } = await outcomeOf(folder, ['check']);
  t.is(code, 0);
  t.regex(stdout, /; Agent wrong: there is no model qiuck now, so runs fail; did you mean quick\?$/m);
  t.notRegex(stdout, /Agent right/);
});

test('servers that cannot be reached are told together, with their addresses and without their passwords', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    DATABASE_URL: 'postgres://alice:s3cretword@127.0.0.1:1/gateway',
    REDIS_URL: 'redis://:hunter2hunter2@127.0.0.1:2',
    OBJECT_STORE_URL: 's3://bucket?endpoint=http://127.0.0.1:3',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY',
    SVC_GRPC_TLS_CERT: 'no.pem',
    SVC_GRPC_TLS_KEY: 'no.pem',
  });
  t.is(code, 1);
  t.regex(stdout, /wrong {4}database\n.*127\.0\.0\.1:1.*ECONNREFUSED/);
  t.regex(stdout, /wrong {4}redis\n.*127\.0\.0\.1:2.*ECONNREFUSED/);
  t.regex(stdout, /wrong {4}objects\n.*ECONNREFUSED/);
  t.regex(stdout, /wrong {4}TLS of gRPC\n.*no\.pem/);
  t.notRegex(stdout, /s3cretword|hunter2|wJalr/);
});

test('a password with a % that escapes nothing is one of the problems, and not shown', async (t) => {
  const { code, stdout, stderr } = await outcomeOf(await temporaryFolder(t), ['check'], {
    DATABASE_URL: 'postgres://alice:s3cret%word@127.0.0.1:1/gateway',
    REDIS_URL: 'redis://:hunter2%hunter2@127.0.0.1:2',
  });
  t.is(code, 1);
  for (const name of ['DATABASE_URL', 'REDIS_URL'])
    t.regex(stdout, new RegExp(`^ {2}${name}: holds a % that begins no code, write it as %25$`, 'm'));
  t.notRegex(stdout + stderr, /s3cret|hunter2/);
});

test('servers that take connections and say nothing do not keep it', async (t) => {
  const silent = net.createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const { port } = silent.address() as net.AddressInfo;
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    DATABASE_URL: `mysql://u:p@127.0.0.1:${port}/x`,
    REDIS_URL: `redis://127.0.0.1:${port}`,
    OBJECT_STORE_URL: `s3://bucket?endpoint=http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  });
  t.is(code, 1);
  for (const part of ['database', 'redis', 'objects']) t.regex(stdout, new RegExp(`wrong {4}${part}\n`));
});

test('servers that answer are said to', async (t) => {
  if (!(await available(t, 'postgres', 'redis'))) return;
  const { url } = await startS3Server(t);
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    DATABASE_URL: 'postgres://root@127.0.0.1:5432/postgres',
    REDIS_URL: 'redis://127.0.0.1:6379',
    OBJECT_STORE_URL: url,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  });
  t.is(code, 0, stdout);
  t.regex(stdout, /ok {7}database: postgres at 127\.0\.0\.1:5432/);
  t.regex(stdout, /ok {7}redis: answers at 127\.0\.0\.1:6379/);
  t.regex(stdout, /ok {7}objects: bucket /);
});

test('objects in a data folder are said to be each replica’s own where there may be replicas', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const DATABASE_URL = 'postgres://root@127.0.0.1:5432/postgres';
  const folder = await temporaryFolder(t);
  const { stdout } = await outcomeOf(folder, ['check'], { DATABASE_URL });
  t.regex(stdout, /^ok {7}objects: files in data\/objects, which all replicas have to share$/m);
  const named = await outcomeOf(folder, ['check'], { DATABASE_URL, OBJECT_STORE_URL: 'file:data/objects' });
  t.regex(named.stdout, /^ok {7}objects: files in data\/objects$/m);
});

test('a misspelt variable is named with what was meant, and is no mistake', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    SVC_ALLOW_ANONYMUS: 'false',
    LLM_APIURL: 'http://127.0.0.1:1',
    LLM_API_KEY_2: 'a secret of a model',
    SVC_THING_SERVICE_HOST: '10.0.0.1',
  });
  t.is(code, 0, stdout);
  t.regex(
    stdout,
    /^ok {7}variables: the gateway’s own are valid; SVC_ALLOW_ANONYMUS is read by nothing, did you mean SVC_ALLOW_ANONYMOUS\?; LLM_APIURL is read by nothing, did you mean LLM_API_URL\?$/m,
  );
});

test('what settings name and no plugin brings is told as the log of a start tells it, and is no mistake', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    SVC_RETENTION: 'sesions=90d,letters=1d,usage_records=90d',
    EMBEDDING_PROVIDER: 'plugin/acme/embed',
    SANDBOX_MODE: 'plugin/acme/vm',
  });
  t.is(code, 0, stdout);
  const line = stdout.split('\n')[0]!;
  t.regex(line, /^ok {7}variables: the gateway’s own are valid; /);
  t.regex(
    line,
    /SVC_RETENTION names sesions, of which no plugin that runs keeps records, did you mean sessions\?/,
  );
  t.regex(
    line,
    /SVC_RETENTION names letters, of which no plugin that runs keeps records: they keep .*sessions/,
  );
  t.regex(line, /EMBEDDING_PROVIDER names plugin\/acme\/embed, which no plugin that runs offers/);
  t.regex(line, /SANDBOX_MODE names plugin\/acme\/vm, which no plugin that runs offers/);
  t.notRegex(line, /names usage_records/);
});

test('a plugin that cannot tell of its settings keeps nothing else from being told', async (t) => {
  const folder = await temporaryFolder(t);
  for (const [name, doubts] of [
    ['odd', "doubts() { throw new Error('odd broke') }"],
    ['vague', 'doubts() {}'],
  ]) {
    await mkdir(path.join(folder, 'plugins', name!), { recursive: true });
    await writeFile(
      path.join(folder, 'plugins', name!, 'plugin.ts'),
      `import { definePlugin, DoubtfulSettingsPoint } from 'agent-gateway';
      const setup = (scope) => scope.contribute(DoubtfulSettingsPoint, { ${doubts} });
      export default definePlugin({ name: '${name}', summary: 'Odd', kernel: '^1.0.0', setup });`,
    );
  }
  const env = { SVC_PLUGIN_DIRS: 'plugins', SANDBOX_MODE: 'plugin/acme/vm' };
  const { code, stdout } = await outcomeOf(folder, ['check'], env);
  t.is(code, 0, stdout);
  const line = stdout.split('\n')[0]!;
  t.regex(line, /; a plugin could not say what its settings name in vain: odd broke/);
  t.regex(line, /SANDBOX_MODE names plugin\/acme\/vm/);
  t.notRegex(line, /; (;|undefined|$)/);
});

test('an object store that no plugin brings is wrong: the gateway would never be ready', async (t) => {
  const { code, stdout } = await outcomeOf(await temporaryFolder(t), ['check'], {
    OBJECT_STORE_URL: 'plugin://acme/box',
  });
  t.is(code, 1);
  t.regex(
    stdout,
    /wrong {4}plugins\n {2}OBJECT_STORE_URL names plugin\/acme\/box, which no plugin that runs offers/,
  );
});

test('a data folder that cannot be made is told', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'file'), 'in the way');
  const { code, stdout } = await outcomeOf(folder, ['check'], { SVC_DATA_DIR: 'file/data' });
  t.is(code, 1);
  t.regex(stdout, /wrong {4}data folder\n {2}file\/data cannot be used: \S*file is no folder/);
});
