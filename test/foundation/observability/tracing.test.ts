import test from 'ava';
import fc from 'fast-check';
import {
  isBaggage,
  isTraceState,
  parseTraceParent,
  readTraceContext,
  writeTraceContext,
} from '../../../foundation/observability/trace-context.ts';
import { collector, incoming, outcome, record, SPAN, TRACE } from './tracing-kit.ts';

test('without an endpoint the caller’s headers pass through, and nothing is recorded', async (t) => {
  const { tracing } = await record(undefined);
  const request = tracing.start('GET', { ...incoming, authorization: 'Bearer x' });
  t.deepEqual(request.headers(), incoming);
  t.is(request.traceId, TRACE);
  const span = tracing.startSpan('chat demo', request.headers(), { kind: 'client' });
  t.deepEqual(span.headers(), incoming);
  span.set({ a: 1 });
  span.end('upstream');
  request.end(outcome);
  await tracing.shutdown();
});

test('without an endpoint malformed headers are dropped', async (t) => {
  const { tracing } = await record(undefined);
  const request = tracing.start('GET', { traceparent: 'nonsense', tracestate: 'a=1', baggage: 'a b' });
  t.deepEqual(request.headers(), {});
  t.is(request.traceId, undefined);
  t.deepEqual(tracing.start('GET', {}).headers(), {});
});

test('with an endpoint a request is a server span below its caller’s', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  const request = tracing.start('GET', { ...incoming, 'user-agent': 'curl/8' });
  t.is(request.traceId, TRACE);
  request.end(outcome);
  await tracing.shutdown();
  t.is(spans.length, 1);
  t.like(spans[0], {
    traceId: TRACE,
    parentSpanId: SPAN,
    traceState: 'vendor=1',
    name: 'GET /v1/tenants/{id}',
    kind: 2,
    status: 0,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/v1/tenants/{id}',
      'http.response.status_code': 200,
      'user_agent.original': 'curl/8',
      'svc.request_id': 'r1',
      'svc.tenant_id': 't1',
    },
    resource: { 'service.name': 'gateway', 'service.version': '2.4.0' },
  });
});

test('outbound requests carry the innermost span, the state and the baggage', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  const request = tracing.start('POST', incoming);
  const call = tracing.startSpan('chat demo', request.headers(), {
    kind: 'client',
    attributes: { 'gen_ai.request.model': 'demo' },
  });
  const step = tracing.startSpan('step', call.headers());
  const headers = step.headers();
  step.end();
  call.set({ 'gen_ai.usage.input_tokens': 12 });
  call.end();
  request.end(outcome);
  await tracing.shutdown();
  const [inner, middle, outer] = ['step', 'chat demo', 'POST /v1/tenants/{id}'].map((name) =>
    spans.find((span) => span.name === name),
  );
  t.deepEqual(headers, { ...incoming, traceparent: `00-${TRACE}-${inner?.spanId}-01` });
  t.is(inner?.parentSpanId, middle?.spanId);
  t.is(middle?.parentSpanId, outer?.spanId);
  t.is(outer?.parentSpanId, SPAN);
  t.like(middle, {
    kind: 3,
    attributes: { 'gen_ai.request.model': 'demo', 'gen_ai.usage.input_tokens': 12 },
  });
});

test('a request with a malformed traceparent starts a trace of its own', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  const request = tracing.start('GET', { ...incoming, traceparent: `00-${TRACE}-${SPAN}-01-extra` });
  request.end(outcome);
  await tracing.shutdown();
  t.not(spans[0]?.traceId, TRACE);
  t.like(spans[0], { parentSpanId: '', traceState: '' });
  t.is(request.headers().baggage, 'user=alice');
});

test('a caller that does not sample gets no span, but its trace goes on', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  const request = tracing.start('GET', { traceparent: `00-${TRACE}-${SPAN}-00` });
  t.regex(request.headers().traceparent!, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  request.end(outcome);
  await tracing.shutdown();
  t.deepEqual(spans, []);
});

test('a failed request is an error of the span from 500 on', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  tracing
    .start('GET', {})
    .end({ ...outcome, status: 404, tenantId: undefined, errorCode: 'tenant.not-found' });
  tracing.start('BREW', {}).end({ ...outcome, status: 502 });
  await tracing.shutdown();
  const [missing, failed] = spans;
  t.like(missing, { status: 0, attributes: { 'svc.error_code': 'tenant.not-found' } });
  t.false('error.type' in missing!.attributes || 'svc.tenant_id' in missing!.attributes);
  t.like(failed, { status: 2, name: 'HTTP /v1/tenants/{id}' });
  t.like(failed?.attributes, { 'error.type': '502', 'http.request.method': '_OTHER' });
});

test('no secret leaves with a span', async (t) => {
  const { address, spans } = await collector(t);
  const { tracing } = await record(`http://${address}`);
  const span = tracing.startSpan('call', undefined, { attributes: { url: 'https://u:hunter2@host/' } });
  span.end('token=hunter2');
  await tracing.shutdown();
  t.is(spans[0]?.status, 2);
  t.regex(String(spans[0]?.attributes['error.type']), /^token=/);
  t.false(JSON.stringify(spans).includes('hunter2'));
});

test('a traceparent is read', (t) => {
  t.deepEqual(parseTraceParent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, isSampled: true });
  t.is(parseTraceParent(`00-${TRACE}-${SPAN}-02`)?.isSampled, false);
});

test('a traceparent of a later version is read as far as it is known', (t) => {
  t.is(parseTraceParent(`cc-${TRACE}-${SPAN}-01-what-the-future-brings`)?.traceId, TRACE);
});

const MALFORMED = [
  '',
  'x',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01-`,
  `cc-${TRACE}-${SPAN}-01.more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-1`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-01-${'x'.repeat(500)}`,
];

for (const value of MALFORMED) {
  test(`the traceparent ${JSON.stringify(value.slice(0, 90))} is dropped, with its tracestate`, (t) => {
    t.is(parseTraceParent(value), undefined);
    t.deepEqual(writeTraceContext(readTraceContext({ traceparent: value, tracestate: 'a=1' })), {});
  });
}

test('a tracestate follows the grammar and its limits', (t) => {
  const valid = [
    'a=1',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'tenant@vendor=x y',
    'a=1 , b=2',
    'a=1,,b=2',
  ];
  const invalid = [
    '',
    ',',
    'a',
    'a=',
    '=1',
    'A=1',
    'a=1,a=2',
    'a=b=c',
    'a=\n',
    'a=ü',
    `a=${'x'.repeat(520)}`,
  ];
  const many = Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',');
  for (const value of valid) t.true(isTraceState(value), value);
  for (const value of [...invalid, many]) t.false(isTraceState(value), value);
});

test('a baggage follows the grammar and its limits', (t) => {
  const valid = ['userId=alice', 'a=1,b=2;p;q=3', 'a = 1 ; p = 2 , b=%20', 'a='];
  const invalid = [
    '',
    'a',
    'a=1,',
    'a b=1',
    'a=1 2',
    'a="x"',
    'a=1;=2',
    'a=1\r\nx: y',
    'a=ü',
    `a=${'x'.repeat(9000)}`,
  ];
  const many = Array.from({ length: 65 }, (_, index) => `k${index}=1`).join(',');
  for (const value of valid) t.true(isBaggage(value), value);
  for (const value of [...invalid, many]) t.false(isBaggage(value), value);
});

test('baggage travels without a trace', (t) => {
  t.deepEqual(writeTraceContext(readTraceContext({ baggage: 'a=1' })), { baggage: 'a=1' });
});

test('what is written holds no line break, whatever was read, and reads the same again', (t) => {
  const value = fc.string({
    unit: fc.constantFrom('a', '=', ',', ';', ' ', '\t', '\r', '\n', '@', '"', 'ü', '0'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(value, value, (tracestate, baggage) => {
      const context = readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate, baggage });
      const headers = writeTraceContext(context);
      for (const text of Object.values(headers)) if (!/^[\t\x20-\x7e]*$/.test(text)) throw new Error(text);
      t.deepEqual(readTraceContext(headers), context);
    }),
  );
});
