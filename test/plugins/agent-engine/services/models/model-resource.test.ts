import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createLogger } from '../../../../../foundation/observability/logger.ts';
import { withoutSpans } from '../../../../../foundation/observability/tracing.ts';
import { openResources } from '../../../../../foundation/resources/open-resources.ts';
import type { ChatRequest, ModelInfo } from '../../../../../plugins/agent-engine/contract.ts';
import { createCircuits } from '../../../../../plugins/agent-engine/services/models/circuit.ts';
import { createDemoModel } from '../../../../../plugins/agent-engine/services/models/demo-model.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import {
  logShadowedDefault,
  type ModelResource,
  modelKind,
} from '../../../../../plugins/agent-engine/services/models/model-resource.ts';
import { openModels } from '../../../../../plugins/agent-engine/services/open-model-service.ts';
import { anthropic } from '../../../../support/fake-anthropic.ts';
import { google } from '../../../../support/fake-google.ts';
import { failure, plain, startFakeProvider, stream } from '../../../../support/fake-provider.ts';
import { fakeMetrics, type Measured } from '../../fake-metrics.ts';
import { API_KEY, ask, collect, context, failureOf, textOf } from './calls.ts';

const settings = {
  include_usage: true,
  max_retries: 0,
  timeout: 60_000,
  idle_timeout: 30_000,
} as const;

async function started(
  t: ExecutionContext,
  configured: { api_url?: string; model?: string } = {},
  failures = 100,
) {
  const folder = await mkdtemp(path.join(tmpdir(), 'models-'));
  const lines: string[] = [];
  const { logger: log } = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  });
  const measured: Measured[] = [];
  const metrics = modelMetrics(fakeMetrics(measured));
  const fallbacks = () =>
    measured.flatMap(([name, labels]) => (name === 'model_fallbacks_total' ? [labels] : []));
  const circuits = createCircuits({
    clock: systemClock,
    metrics,
    log,
    settings: { failures, openMs: 60_000 },
  });
  const common = {
    clock: systemClock,
    ids: createIds(systemClock),
    metrics,
    tracing: withoutSpans,
    log,
    circuits,
    beforeCall: () => {},
  };
  const demo = createDemoModel({ ...common, chunkDelayMs: 0 });
  const resolveSecret = async (reference: string) => {
    if (reference === 'env:THE_KEY') return API_KEY;
    throw new Error(`${reference} is not set`);
  };
  const watch = () => ({ on: () => undefined, close: () => undefined }) as never;
  const resources = await openResources({ folder, clock: systemClock, log, watch });
  const kind = modelKind({ ...common, settings, demo, resolveSecret });
  const registration = resources.register<ModelResource>(kind, { plugin: 'agent-engine', log });
  logShadowedDefault(registration.view, configured.api_url, log);
  const opened = await openModels({
    ...common,
    settings: { ...settings, api_url: configured.api_url, api_key: undefined, model: configured.model },
    demo,
    resources: registration.view,
  });
  (await resources.prepare([registration])).publish();
  t.teardown(async () => {
    await resources.close();
    await opened.close();
    await rm(folder, { recursive: true });
  });
  const put = async (specs: Record<string, object>) => {
    await mkdir(folder, { recursive: true });
    const documents = Object.entries(specs).map(([name, spec]) =>
      JSON.stringify({ apiVersion: 'svc/v1', kind: 'Model', metadata: { name }, spec }),
    );
    await writeFile(path.join(folder, 'models.yaml'), `# models\n${documents.join('\n---\n')}`);
    return resources.reload();
  };
  const copy = async (example: string) => {
    await copyFile(example, path.join(folder, 'models.yaml'));
    await resources.reload();
  };
  const problems = () =>
    resources
      .report()
      .files.flatMap(({ documents }) => documents.flatMap((document) => document.problems))
      .map(({ pointer, message }) => `${pointer}: ${message}`);
  return { models: opened.models, put, copy, problems, fallbacks, lines };
}

test('a model of a file answers under its alias, with its server, name and key', async (t) => {
  await using provider = await startFakeProvider();
  const { models, put, problems } = await started(t);
  await put({
    acme: {
      provider: 'openai',
      model: 'acme-large',
      base_url: provider.url,
      api_key: 'env:THE_KEY',
      context_length: 128_000,
      capabilities: ['tools'],
    },
    helper: { provider: 'demo', model: 'demo' },
  });
  t.deepEqual(problems(), []);
  t.deepEqual(
    models.list().map(({ id, provider: by, model }) => [id, by, model]),
    [
      ['default', 'demo', 'demo'],
      ['demo', 'demo', 'demo'],
      ['acme', 'openai', 'acme-large'],
      ['helper', 'demo', 'demo'],
    ],
  );
  t.like(models.list()[2], { context_length: 128_000, capabilities: ['tools'] });
  await models.resolve('acme').complete(ask('Hi', { model: 'acme' }), context());
  await collect(models.resolve('acme').stream(ask('Hi', { model: 'acme' }), context()));
  t.deepEqual(
    provider.requests.map(({ body, headers }: { body: ChatRequest; headers: { authorization?: string } }) => [
      body.model,
      headers.authorization,
    ]),
    [
      ['acme-large', `Bearer ${API_KEY}`],
      ['acme-large', `Bearer ${API_KEY}`],
    ],
  );
  t.regex(textOf(await collect(models.resolve('helper').stream(ask(), context()))), /demo model/);
  await put({});
  t.throws(() => models.resolve('acme'), { code: 'model_not_found' });
});

test('what cannot work is told with its place, and never with a key', async (t) => {
  const { put, problems } = await started(t);
  const good = { provider: 'openai', model: 'm' };
  const cases: [object, RegExp][] = [
    [
      { ...good, provider: 'mystery' },
      /^\/spec\/provider: must be openai, anthropic, google, demo, the package .* or plugin\/<plugin>\/<name>/,
    ],
    [{ provider: 'openai' }, /^\/spec\/model: is required$/],
    [{ ...good, base_url: 'ftp://there' }, /^\/spec\/base_url: must be an http:\/\/ or https:\/\/ URL$/],
    [{ ...good, base_url: `https://me:${API_KEY}@there` }, /^\/spec\/base_url: .*must not hold credentials/],
    [
      { ...good, base_url: 'https://there/v1/chat/completions' },
      /^\/spec\/base_url: .*ends in \/chat\/completions/,
    ],
    [
      { ...good, provider: 'anthropic', api_key: 'env:THE_KEY', base_url: `https://me:${API_KEY}@there` },
      /^\/spec\/base_url: .*must not hold credentials/,
    ],
    [{ ...good, api_key: API_KEY }, /^\/spec\/api_key: must be env:NAME, file:PATH or plugin\//],
    [{ ...good, api_key: 'env:OTHER' }, /could not be built: env:OTHER is not set$/],
    [{ ...good, apikey: 'env:THE_KEY' }, /^\/spec\/apikey: is not known here, did you mean api_key\?$/],
    [{ ...good, context_length: 0 }, /^\/spec\/context_length: must be >= 1$/],
    [{ ...good, provider: 'anthropic' }, /^\/spec\/api_key: is required with the provider anthropic$/],
    [{ ...good, provider: '@ai-sdk/google' }, /^\/spec\/api_key: is required with the provider google$/],
    [
      { ...good, provider: '@ai-sdk/nobody' },
      /could not be built: the package @ai-sdk\/nobody is not installed: run/,
    ],
    [{ ...good, provider: 'npm:koa' }, /could not be built: the package koa is no provider of the AI SDK$/],
    [{ ...good, provider: 'npm:../../secrets' }, /^\/spec\/provider: must be openai/],
    [{ ...good, fallbacks: ['nobody'] }, /^\/spec\/fallbacks\/0: there is no Model with the name nobody$/],
    [{ ...good, fallbacks: ['bad'] }, /^\/spec\/fallbacks\/0: is this model itself$/],
    [
      { provider: 'demo', model: 'demo', base_url: 'https://there' },
      /has no meaning with the provider demo$/,
    ],
  ];
  for (const [spec, expected] of cases) {
    await put({ bad: spec });
    t.regex(problems().join('\n'), expected);
    t.false(problems().join().includes(API_KEY));
  }
});

test('what breaks the schema of a model and what breaks a rule is told at once', async (t) => {
  const { put, problems } = await started(t);
  const told = async (spec: object) => {
    await put({ bad: spec });
    return problems();
  };
  const url = 'https://me:pass@there';
  t.deepEqual(await told({ provider: 'anthropic', base_url: url, fallbacks: ['bad'], context_length: 0 }), [
    '/spec/model: is required',
    '/spec/context_length: must be >= 1',
    '/spec/base_url: The model API URL must not hold credentials; set the API key instead.',
    '/spec/api_key: is required with the provider anthropic',
    '/spec/fallbacks/0: is this model itself',
  ]);
  t.deepEqual(await told({ provider: 'demo', api_key: 'env:THE_KEY', base_url: 7, fallbacks: 'bad' }), [
    '/spec/model: is required',
    '/spec/base_url: must be string',
    '/spec/fallbacks: must be array',
    '/spec/api_key: has no meaning with the provider demo',
  ]);
  t.deepEqual(await told({ provider: 7, model: 'm', base_url: url }), [
    '/spec/provider: must be string',
    '/spec/base_url: The model API URL must not hold credentials; set the API key instead.',
  ]);
});

test('models of Anthropic, of Google and of a package by name answer under their aliases', async (t) => {
  await using claude = await startFakeProvider(anthropic());
  await using gemini = await startFakeProvider(google());
  const { models, put, problems } = await started(t);
  const key = { api_key: 'env:THE_KEY' };
  await put({
    claude: { provider: 'anthropic', model: 'claude-sonnet-4-5', base_url: claude.url, ...key },
    gemini: { provider: 'google', model: 'gemini-2.5-flash', base_url: gemini.url, ...key },
    named: { provider: 'npm:@ai-sdk/anthropic', model: 'claude-haiku-4-5', base_url: claude.url, ...key },
  });
  t.deepEqual(problems(), []);
  t.is(textOf(await collect(models.resolve('claude').stream(ask(), context()))), 'Hello from Claude.');
  t.is(textOf(await collect(models.resolve('gemini').stream(ask(), context()))), 'Hello from Gemini.');
  const completion = await models.resolve('named').complete(ask(), context());
  t.is(completion.choices[0]?.message.content, 'Hello from Claude.');
  t.deepEqual(
    [...claude.requests, ...gemini.requests].map(({ body, path: route }) => body.model ?? route),
    ['claude-sonnet-4-5', 'claude-haiku-4-5', '/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse'],
  );
  t.is(models.resolve('named').info.provider, 'anthropic');
});

test('who really answers is told before the first chunk and with the completion', async (t) => {
  await using broken = await startFakeProvider(failure(503));
  const { models, put } = await started(t);
  await put({
    first: { provider: 'openai', model: 'one', base_url: broken.url, fallbacks: ['second'] },
    second: { provider: 'demo', model: 'demo' },
  });
  const told: string[] = [];
  const answeredBy = (info: ModelInfo) => void told.push(`${info.id} ${info.provider}`);
  const telling = { ...context(), answeredBy };
  await models.resolve('first').complete(ask(), telling);
  for await (const _ of models.resolve('first').stream(ask(), telling)) told.push('chunk');
  t.deepEqual(told.slice(0, 3), ['second demo', 'second demo', 'chunk']);
  t.is(told.filter((line) => line !== 'chunk').length, 2);
  const failing = { ...telling, signal: AbortSignal.abort() };
  t.is((await failureOf(t, models.resolve('first').complete(ask(), failing))).code, 'model.aborted');
  t.is(told.filter((line) => line !== 'chunk').length, 2);
  await models.resolve('demo').complete(ask(), telling);
  t.is(told.at(-1), 'demo demo');
});

test('a model that keeps failing is passed over at once, under all its aliases, and others of its provider go on', async (t) => {
  await using provider = await startFakeProvider((reply) =>
    (reply.request.body.model === 'broken' ? failure(503) : plain())(reply),
  );
  const { models, put } = await started(t, {}, 2);
  const openai = { provider: 'openai', base_url: provider.url };
  await put({
    first: { ...openai, model: 'broken', fallbacks: ['spare'] },
    second: { ...openai, model: 'broken', fallbacks: ['spare'] },
    alone: { ...openai, model: 'broken' },
    other: { ...openai, model: 'works' },
    spare: { provider: 'demo', model: 'demo' },
  });
  for (const alias of ['first', 'second', 'first', 'second']) {
    await models.resolve(alias).complete(ask(), context());
    await collect(models.resolve(alias).stream(ask(), context()));
  }
  t.is(provider.requests.length, 2);
  const alone = (signal?: AbortSignal) => models.resolve('alone').complete(ask(), context(signal));
  t.is((await failureOf(t, alone())).code, 'model.circuit-open');
  t.is((await failureOf(t, alone(AbortSignal.abort()))).code, 'model.aborted');
  await models.resolve('other').complete(ask(), context());
  t.is(provider.requests.length, 3);
  t.is((await failureOf(t, alone())).code, 'model.circuit-open');
});

test('a fallback answers when the model fails before it began, whole and streamed', async (t) => {
  await using broken = await startFakeProvider(failure(503));
  await using works = await startFakeProvider();
  const { models, put, problems, fallbacks } = await started(t);
  await put({
    first: { provider: 'openai', model: 'one', base_url: broken.url, fallbacks: ['second', 'third'] },
    // Standing in for each other is no circle.
    second: { provider: 'openai', model: 'two', base_url: broken.url, fallbacks: ['first'] },
    third: { provider: 'openai', model: 'three', base_url: works.url },
  });
  t.deepEqual(problems(), []);
  const completion = await models.resolve('first').complete(ask(), context());
  t.is(completion.choices[0]!.finish_reason, 'stop');
  await collect(models.resolve('first').stream(ask(), context()));
  t.deepEqual(
    works.requests.map(({ body }) => body.model),
    ['three', 'three'],
  );
  const once = ['first second', 'first third'];
  t.deepEqual(fallbacks(), [...once, ...once]);
  // A fallback's own fallbacks do not count: the last one's failure is the call's.
  t.is((await failureOf(t, models.resolve('second').complete(ask(), context()))).code, 'model.upstream');
});

test('the request’s own mistakes, a caller who left, and what was begun get no fallback', async (t) => {
  await using spare = await startFakeProvider();
  const cases = [
    { script: failure(400), code: 'model.rejected', signal: undefined },
    { script: failure(503), code: 'model.aborted', signal: AbortSignal.abort() },
  ];
  for (const { script, code, signal } of cases) {
    await using provider = await startFakeProvider(script);
    const { models, put } = await started(t);
    await put({
      first: { provider: 'openai', model: 'one', base_url: provider.url, fallbacks: ['spare'] },
      spare: { provider: 'openai', model: 'spare', base_url: spare.url },
    });
    t.is((await failureOf(t, models.resolve('first').complete(ask(), context(signal)))).code, code);
  }
  const gate = Promise.withResolvers<void>();
  await using cut = await startFakeProvider(async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write(chunkText({ content: 'Hel' }));
    await gate.promise;
    response.destroy();
  });
  const { models, put } = await started(t);
  await put({
    first: { provider: 'openai', model: 'one', base_url: cut.url, fallbacks: ['spare'] },
    spare: { provider: 'openai', model: 'spare', base_url: spare.url },
  });
  const chunks = models.resolve('first').stream(ask(), context())[Symbol.asyncIterator]();
  t.is((await chunks.next()).value?.choices[0]?.delta.content, 'Hel');
  gate.resolve();
  t.is((await failureOf(t, chunks.next())).code, 'model.upstream');
  t.is(spare.requests.length, 0);
});

test('a stream goes on with the version that it began with, and its connections end after it', async (t) => {
  const gate = Promise.withResolvers<void>();
  await using provider = await startFakeProvider(async (reply) => {
    const { response, write } = reply;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write(chunkText({ role: 'assistant', content: 'Hel' }));
    await gate.promise;
    await write(chunkText({ content: 'lo' }));
    await write(chunkText({}, 'stop'));
    response.end('data: [DONE]\n\n');
  }, plain('new'));
  const { models, put } = await started(t);
  const spec = { provider: 'openai', model: 'one', base_url: provider.url };
  await put({ m: spec });
  const chunks = models.resolve('m').stream(ask(), context())[Symbol.asyncIterator]();
  const first = await chunks.next();
  await put({ m: { ...spec, model: 'two' } });
  await put({});
  await put({ m: { ...spec, model: 'three' } });
  gate.resolve();
  const rest: string[] = [];
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    rest.push(next.value.choices[0]?.delta.content ?? '');
  }
  t.is(`${first.value?.choices[0]?.delta.content}${rest.join('')}`, 'Hello');
  await models.resolve('m').complete(ask(), context());
  t.deepEqual(
    provider.requests.map(({ body }) => body.model),
    ['one', 'three'],
  );
});

test('an alias of a file wins over a configured one, and gives it back', async (t) => {
  await using configured = await startFakeProvider();
  await using ours = await startFakeProvider(stream(['Hi']));
  const { models, put, lines } = await started(t, { api_url: configured.url, model: 'configured' });
  t.is(models.resolve('default').info.model, 'configured');
  await put({ default: { provider: 'openai', model: 'ours', base_url: ours.url } });
  t.is(models.resolve('default').info.model, 'ours');
  t.deepEqual(
    models.list().map(({ id, model }) => [id, model]),
    [
      ['default', 'ours'],
      ['configured', 'configured'],
      ['demo', 'demo'],
    ],
  );
  await collect(models.resolve('default').stream(ask(), context()));
  t.deepEqual([configured.requests.length, ours.requests.length], [0, 1]);
  await put({});
  t.is(models.resolve('default').info.model, 'configured');
  t.is(lines.filter((line) => /the model default comes from/.test(line)).length, 2);
});

test('without a model in LLM_MODEL names of files win over those that are passed through', async (t) => {
  await using provider = await startFakeProvider();
  const { models, put } = await started(t, { api_url: provider.url });
  await put({ helper: { provider: 'demo', model: 'demo' } });
  t.is(models.resolve('helper').info.provider, 'demo');
  t.is(models.resolve('other').info.provider, 'openai');
});

test('the examples of agents.d load with nothing configured', async (t) => {
  const { models, copy, problems } = await started(t);
  await copy(path.join(import.meta.dirname, '../../../../../agents.d/models.yaml'));
  t.deepEqual(problems(), []);
  t.regex(textOf(await collect(models.resolve('helper').stream(ask(), context()))), /demo model/);
});

/** One event of a stream, as a provider sends it. */
function chunkText(delta: object, finish_reason: string | null = null): string {
  const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
}
