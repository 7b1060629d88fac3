import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { withoutSpans } from '../../../../../foundation/observability/tracing.ts';
import type { ChatRequest, ModelClient } from '../../../../../plugins/agent-engine/contract.ts';
import { createDemoModel } from '../../../../../plugins/agent-engine/services/models/demo-model.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import { createModelRegistry } from '../../../../../plugins/agent-engine/services/models/model-registry.ts';
import { failure, startFakeProvider } from '../../../../support/fake-provider.ts';
import { fakeMetrics, type Measured } from '../../fake-metrics.ts';
import { ask, clientFor, collect, context, failureOf } from './calls.ts';

const clock = { ...systemClock, now: () => 1_700_000_000_999 };
const demo = createDemoModel({ clock, ids: createIds(clock), chunkDelayMs: 0 });

function registry(model?: string, client?: ModelClient, measured: Measured[] = []) {
  const server = client && { client, model };
  return createModelRegistry({
    server,
    demo,
    clock,
    metrics: modelMetrics(fakeMetrics(measured)),
    logFailure: () => {},
    tracing: withoutSpans,
    timeout: 60_000,
  });
}

test('with nothing configured, default and demo are the demo model', async (t) => {
  const models = registry();
  t.deepEqual(models.list(), [
    { id: 'default', provider: 'demo', model: 'demo', owned_by: 'agent-gateway', created: 1_700_000_000 },
    { id: 'demo', provider: 'demo', model: 'demo', owned_by: 'agent-gateway', created: 1_700_000_000 },
  ]);
  const completion = await models.resolve('default').complete(ask('Hi', { model: 'default' }), context());
  t.regex(String(completion.choices[0]?.message.content), /demo model/);
  t.is(completion.model, 'demo');
});

test('an unknown name is 404 model_not_found and names what there is', (t) => {
  const error = t.throws(() => registry().resolve('gpt-9')) as Error & {
    code: string;
    kind: string;
    extras: object;
  };
  t.is(error.code, 'model_not_found');
  t.is(error.kind, 'not-found');
  t.is(error.message, 'There is no model "gpt-9". Available: "default", "demo".');
  t.deepEqual(error.extras, { param: 'model' });
  t.throws(() => registry().resolve('__proto__'), { code: 'model_not_found' });
  t.true(t.throws(() => registry().resolve('x'.repeat(1e6))).message.length < 300);
});

test('with a server and a model, the alias and the raw name ask the server for the model', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  const models = registry('acme-large', client);
  t.deepEqual(
    models.list().map(({ id, model }) => [id, model]),
    [
      ['default', 'acme-large'],
      ['acme-large', 'acme-large'],
      ['demo', 'demo'],
    ],
  );
  await models.resolve('default').complete(ask('Hi', { model: 'default' }), context());
  await collect(models.resolve('acme-large').stream(ask('Hi', { model: 'acme-large' }), context()));
  t.deepEqual(
    provider.requests.map(({ body }: { body: ChatRequest }) => body.model),
    ['acme-large', 'acme-large'],
  );
  t.throws(() => models.resolve('other'), { code: 'model_not_found' });
  t.is(models.resolve('demo').info.provider, 'demo');
});

test('a server whose model is called demo does not hide the built-in one', (t) => {
  const models = registry('demo', demo);
  t.deepEqual(
    models.list().map(({ id, provider }) => [id, provider]),
    [
      ['default', 'openai'],
      ['demo', 'demo'],
    ],
  );
});

test('with a server and no model, names pass through, and metrics do not grow with them', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  const measured: Measured[] = [];
  const models = registry('', client, measured);
  t.deepEqual(
    models.list().map(({ id }) => id),
    ['default', 'demo'],
  );
  for (const name of ['default', 'gpt-a', 'gpt-b']) await models.resolve(name).complete(ask(), context());
  t.deepEqual(
    provider.requests.map(({ body }: { body: ChatRequest }) => body.model),
    ['default', 'gpt-a', 'gpt-b'],
  );
  t.deepEqual(
    measured.flatMap(([name, labels]) => (name === 'model_requests_total' ? [labels] : [])),
    ['default ok', 'pass-through ok', 'pass-through ok'],
  );
});

test('a passed-through name that the server does not know is 404; a configured one is the operator’s 502', async (t) => {
  await using provider = await startFakeProvider(failure(404, {}, { message: 'no such model' }));
  await using client = clientFor(provider.url);
  const open = registry(undefined, client).resolve('gpt-9');
  for (const call of [open.complete(ask(), context()), collect(open.stream(ask(), context()))]) {
    const error = await failureOf(t, call);
    t.is(error.code, 'model_not_found');
    t.is(error.detail, 'The model provider does not know a model "gpt-9".');
  }
  const fixed = registry('gpt-9', client).resolve('gpt-9');
  t.is((await failureOf(t, fixed.complete(ask(), context()))).kind, 'upstream');
});
