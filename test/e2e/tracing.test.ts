import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../testing/index.ts';
import { type Collector, startCollector } from '../foundation/observability/otlp-collector.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { type FakeProvider, failure, plain, startFakeProvider } from '../support/fake-provider.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const INCOMING = {
  traceparent: `00-${TRACE}-${CALLER}-01`,
  tracestate: 'vendor=1',
  baggage: 'user=alice,plan=pro',
  'x-request-id': 'traced',
};
const CHAT = { model: 'default', messages: [{ role: 'user', content: 's3cret words' }] };
const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

async function start(
  t: ExecutionContext,
  env: Record<string, string>,
): Promise<{ readonly gateway: TestGateway; readonly provider: FakeProvider }> {
  const provider = await startFakeProvider();
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startPlatform(t, { env: { LLM_API_URL: provider.url, ...env } });
  return { gateway, provider };
}

async function startTraced(t: ExecutionContext) {
  const collector: Collector = await startCollector();
  t.teardown(() => collector.close());
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
    OTEL_SERVICE_NAME: 'gateway-under-test',
  };
  return { ...(await start(t, env)), collector };
}

const chat = (gateway: TestGateway, headers: Record<string, string>, stream = false) =>
  gateway.request('/v1/chat/completions', { method: 'POST', headers, body: { ...CHAT, stream } });

test('without a collector the caller’s trace and baggage reach the model provider as they are', async (t) => {
  const { gateway, provider } = await start(t, {});
  for (const stream of [false, true]) t.is((await chat(gateway, INCOMING, stream)).status, 200);
  for (const { headers } of provider.requests) {
    const { traceparent, tracestate, baggage } = headers;
    t.deepEqual({ traceparent, tracestate, baggage, 'x-request-id': 'traced' }, INCOMING);
  }
  t.is(provider.requests.length, 2);
  t.true(gateway.logs().some((line) => line.includes(`"traceId":"${TRACE}"`)));
});

test('with a collector the provider’s call is part of the caller’s trace, below the gateway’s span', async (t) => {
  const { gateway, provider, collector } = await startTraced(t);
  for (const stream of [false, true]) t.is((await chat(gateway, INCOMING, stream)).status, 200);
  await gateway.stop();

  const servers = collector.spans.filter(({ kind }) => kind === 2);
  t.is(servers.length, 2);
  for (const span of servers) {
    t.is(span.traceId, TRACE);
    t.is(span.parentSpanId, CALLER);
    t.is(span.name, 'POST /v1/chat/completions');
    t.like(span.attributes, { 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 });
    const values = Object.values(span.attributes);
    t.true(values.includes(DEFAULT_TENANT) && values.includes('traced'), JSON.stringify(span.attributes));
    t.is(span.resource['service.name'], 'gateway-under-test');
  }
  for (const { headers } of provider.requests) {
    t.is(headers.baggage, INCOMING.baggage);
    const [, trace, parent] = String(headers.traceparent).split('-');
    t.is(trace, TRACE);
    t.true(collector.spans.some(({ spanId }) => spanId === parent));
  }
  t.notRegex(JSON.stringify(collector.spans), /s3cret|acp_static/);
});

test('a call of a model is a span below the request’s, with model and tokens, and a failed one says how', async (t) => {
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const provider = await startFakeProvider(failure(400), plain('Hello'));
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startPlatform(t, {
    env: {
      LLM_API_URL: provider.url,
      LLM_MODEL: 'm-1',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`,
    },
  });
  t.not((await chat(gateway, INCOMING)).status, 200);
  const { body } = await chat(gateway, INCOMING);
  await gateway.stop();

  const requests = collector.spans.filter(({ kind }) => kind === 2).map(({ spanId }) => spanId);
  const calls = collector.spans.filter(({ name }) => name === 'chat default');
  t.is(calls.length, 2);
  for (const { kind, traceId, parentSpanId, attributes } of calls) {
    t.deepEqual([kind, traceId, requests.includes(parentSpanId)], [3, TRACE, true]);
    t.like(attributes, { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm-1' });
  }
  const [failed, answered] = calls;
  t.is(failed?.status, 2);
  t.is(typeof failed?.attributes['error.type'], 'string');
  t.is(answered?.status, 0);
  t.is(answered?.attributes['gen_ai.usage.input_tokens'], body.usage.prompt_tokens);
  t.is(answered?.attributes['gen_ai.usage.output_tokens'], body.usage.completion_tokens);
  const parents = provider.requests.map(({ headers }) => String(headers.traceparent).split('-')[2]);
  t.deepEqual(
    parents,
    calls.map(({ spanId }) => spanId),
  );
});

test('a call of a tool is a span between the request and what follows', async (t) => {
  const { gateway, collector } = await startTraced(t);
  const body = {
    model: 'demo',
    messages: [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }],
  };
  const answer = await gateway.request('/v1/agent/chat', { method: 'POST', headers: INCOMING, body });
  t.is(answer.status, 200);
  await gateway.stop();
  t.deepEqual(collector.spans.map(({ name }) => name).sort(), [
    'POST /v1/agent/chat',
    'chat demo',
    'chat demo',
    'execute_tool calculator',
  ]);
  const tool = collector.spans.find(({ name }) => name.startsWith('execute_tool'));
  t.like(tool, { kind: 1, traceId: TRACE, status: 0 });
  t.is(tool?.attributes['gen_ai.tool.name'], 'calculator');
});

test('with a collector a caller without a trace gets one, which log and provider share', async (t) => {
  const { gateway, provider, collector } = await startTraced(t);
  t.is((await chat(gateway, {})).status, 200);
  const trace = String(provider.requests[0]!.headers.traceparent).split('-')[1];
  await gateway.stop();
  t.regex(trace ?? '', /^[0-9a-f]{32}$/);
  t.true(collector.spans.some(({ kind, traceId }) => kind === 2 && traceId === trace));
  t.true(gateway.logs().some((line) => line.includes(`"traceId":"${trace}"`)));
});

test('the span of a failure has its status, its route and no secret', async (t) => {
  const { gateway, collector } = await startTraced(t);
  await gateway.request('/v1/tenants/0198c0de-0000-7000-8000-000000000001?token=s3cret');
  await gateway.request('/nowhere/s3cret', { token: 's3cret' });
  await gateway.stop();
  const of = (route: string) => collector.spans.find(({ attributes }) => attributes['http.route'] === route);
  t.is(of('/v1/tenants/{id}')?.attributes['http.response.status_code'], 404);
  t.true(collector.spans.some(({ attributes }) => attributes['http.response.status_code'] === 404));
  t.notRegex(JSON.stringify(collector.spans), /s3cret/);
});

test('a collector that is away costs no request and no clean stop', async (t) => {
  const { gateway } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  t.is((await chat(gateway, INCOMING)).status, 200);
  const began = performance.now();
  await gateway.stop();
  t.true(performance.now() - began < 10_000);
  t.true(
    gateway
      .logs()
      .some((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT') || line.includes('"level":"warn"')),
  );
});
