import test from 'ava';
import fc from 'fast-check';
import {
  methodLabel,
  pathLabel,
  statusLabel,
  tenantLabel,
} from '../../../foundation/observability/metric-registry.ts';
import { createMetrics } from '../../../foundation/observability/metrics.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';

const make = (options: { maxTenants?: number; maxSeries?: number } = {}) =>
  createMetrics({ version: '2.4.0', process: false, ...options });

const request = { method: 'GET', path: '/v1/me', status: 200, tenantId: 't1', seconds: 0.02 };

function linesOf(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.includes(name));
}

test('the three HTTP metrics read as the specification prints them', async (t) => {
  const { http, text, contentType } = make();
  for (let count = 0; count < 4; count += 1) http.began();
  http.ended({ method: 'GET', path: '/v1/tenants/{id}', status: 200, tenantId: 't1', seconds: 0.005 });
  http.ended({ method: 'GET', path: '/v1/tenants/{id}', status: 404, tenantId: 't1', seconds: 0.25 });
  http.ended({ method: 'POST', path: 'unmatched', status: 401, tenantId: undefined, seconds: 12 });
  t.is(contentType, 'text/plain; version=0.0.4; charset=utf-8');
  const output = await text();
  t.is(
    output.slice(output.indexOf('# HELP svc_http_requests_total')),
    `# HELP svc_http_requests_total HTTP requests answered.
# TYPE svc_http_requests_total counter
svc_http_requests_total{method="GET",path="/v1/tenants/{id}",status="200",tenant_id="t1"} 1
svc_http_requests_total{method="GET",path="/v1/tenants/{id}",status="404",tenant_id="t1"} 1
svc_http_requests_total{method="POST",path="unmatched",status="401",tenant_id="anonymous"} 1

# HELP svc_http_request_duration_seconds Seconds from the request to the end of its response.
# TYPE svc_http_request_duration_seconds histogram
${histogram('method="GET",path="/v1/tenants/{id}",tenant_id="t1"', [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2], 0.255)}
${histogram('method="POST",path="unmatched",tenant_id="anonymous"', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 12)}

# HELP svc_http_requests_in_flight HTTP requests being served.
# TYPE svc_http_requests_in_flight gauge
svc_http_requests_in_flight 1
`,
  );
});

function histogram(labels: string, cumulative: number[], sum: number): string {
  const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '+Inf'];
  const name = 'svc_http_request_duration_seconds';
  return [
    ...bounds.map((bound, index) => `${name}_bucket{le="${bound}",${labels}} ${cumulative[index]}`),
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${cumulative.at(-1)}`,
  ].join('\n');
}

test('the build, refused requests and readings of others are told', async (t) => {
  const metrics = make();
  metrics.rateLimitRejected('t1', 'minute');
  metrics.rateLimitRejected(undefined, 'minute');
  let queued = 3;
  metrics.watchAudit(() => ({ queued, spooledBytes: 0, rejected: 2, lost: 1 }));
  metrics.reading({ name: 'svc_x_total', help: 'X.', kind: 'counter', read: () => 7 });
  const lines = linesOf(await metrics.text(), 'svc_').filter((line) => !line.startsWith('#'));
  t.true(lines.includes(`svc_build_info{version="2.4.0",node="${process.versions.node}"} 1`));
  t.true(lines.includes('svc_rate_limit_rejected_total{tenant_id="t1",window="minute"} 1'));
  t.true(lines.includes('svc_rate_limit_rejected_total{tenant_id="anonymous",window="minute"} 1'));
  t.true(lines.includes('svc_audit_queued_records 3'));
  t.true(lines.includes('svc_audit_rejected_total 2') && lines.includes('svc_audit_lost_total 1'));
  queued = 5;
  await metrics.text();
  const again = await metrics.text();
  t.true(again.includes('svc_audit_queued_records 5'));
  t.true(again.includes('svc_x_total 7'), 'a counter that is read twice is not counted twice');
});

test('two instances in one process do not share a registry', async (t) => {
  const [one, two] = [make(), make()];
  one.http.began();
  t.true((await one.text()).includes('svc_http_requests_in_flight 1'));
  t.true((await two.text()).includes('svc_http_requests_in_flight 0'));
});

test('the runtime tells of its event loop, memory and garbage collection', async (t) => {
  const text = await createMetrics({ version: '1' }).text();
  for (const name of [
    'nodejs_eventloop_lag_p99_seconds',
    'process_resident_memory_bytes',
    'nodejs_gc_duration_seconds',
  ]) {
    t.true(text.includes(name), name);
  }
});

test('more tenants than there is room for share the label other, and are counted', async (t) => {
  const { http, text, rateLimitRejected } = make({ maxTenants: 2 });
  for (const tenantId of ['t1', 't2', 't3', 't4', 't1', '']) http.ended({ ...request, tenantId });
  rateLimitRejected('t5', 'minute');
  const output = await text();
  t.deepEqual(linesOf(output, 'svc_http_requests_total{'), [
    'svc_http_requests_total{method="GET",path="/v1/me",status="200",tenant_id="t1"} 2',
    'svc_http_requests_total{method="GET",path="/v1/me",status="200",tenant_id="t2"} 1',
    'svc_http_requests_total{method="GET",path="/v1/me",status="200",tenant_id="other"} 2',
    'svc_http_requests_total{method="GET",path="/v1/me",status="200",tenant_id="anonymous"} 1',
  ]);
  t.true(output.includes('svc_metrics_overflow_total 3'));
  t.true(output.includes('svc_rate_limit_rejected_total{tenant_id="other",window="minute"} 1'));
});

test('whatever requests come, the number of series is bounded and no request is lost', async (t) => {
  const text = fc.string({ maxLength: 3 });
  const requests = fc.array(
    fc.record({ method: text, path: text, tenantId: text, status: fc.integer(), seconds: fc.constant(1) }),
    {
      minLength: 200,
      maxLength: 300,
    },
  );
  await fc.assert(
    fc.asyncProperty(requests, async (all) => {
      const metrics = make({ maxSeries: 20, maxTenants: 10 });
      for (const one of all) metrics.http.ended(one);
      const counts = linesOf(await metrics.text(), 'svc_http_request_duration_seconds_count{');
      if (counts.length > 2 * 20 + 8) throw new Error(`${counts.length} series`);
      const sum = counts.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
      if (sum !== all.length) throw new Error(`${sum} of ${all.length} requests`);
    }),
    { numRuns: 20 },
  );
  t.pass();
});

test('labels follow the rules', (t) => {
  t.is(pathLabel('x'.repeat(64)).length, 64);
  t.is(pathLabel('x'.repeat(65)), 'x'.repeat(64));
  t.is(tenantLabel(undefined), 'anonymous');
  t.is(tenantLabel(''), 'anonymous');
  t.is(methodLabel('PATCH'), 'PATCH');
  t.is(methodLabel('PROPFIND'), 'other');
  t.is(statusLabel(499), 499);
  t.is(statusLabel(Number.NaN), 0);
});

test('two long patterns with the same beginning are counted together', async (t) => {
  const { http, text } = make();
  const long = `/${'x'.repeat(70)}`;
  http.ended({ ...request, path: `${long}a` });
  http.ended({ ...request, path: `${long}b` });
  t.deepEqual(linesOf(await text(), 'svc_http_requests_total{'), [
    `svc_http_requests_total{method="GET",path="${long.slice(0, 64)}",status="200",tenant_id="t1"} 2`,
  ]);
});

const signals = { name: 'evolution_signals_total', help: 'Signals.', labels: ['signal_type'] } as const;

test('a metric of a plugin is in the output until the plugin is disposed', async (t) => {
  const { registry, text } = make();
  const metrics = createPluginMetrics(registry, 'evolution');
  metrics.counter(signals).inc({ signal_type: 'tool_error' }, 2);
  metrics.gauge({ name: 'svc_evolution_queue', help: 'Waiting.' }).set(4);
  metrics.histogram({ name: 'svc_evolution_seconds', help: 'Seconds.', buckets: [1, 2] }).observe(1.5);
  const output = await text();
  t.true(output.includes('evolution_signals_total{signal_type="tool_error"} 2'));
  t.true(output.includes('svc_evolution_queue 4'));
  t.true(output.includes('svc_evolution_seconds_bucket{le="2"} 1'));
  metrics.dispose();
  metrics.dispose();
  t.false((await text()).includes('evolution'));
});

test('a new generation beside the old one keeps the value of a counter', async (t) => {
  const { registry, text } = make();
  const old = createPluginMetrics(registry, 'evolution');
  old.counter(signals).inc({ signal_type: 'node_done' });
  const next = createPluginMetrics(registry, 'evolution');
  const counter = next.counter({ ...signals, help: 'Signals, told better.' });
  old.dispose();
  counter.inc({ signal_type: 'node_done' });
  t.true((await text()).includes('evolution_signals_total{signal_type="node_done"} 2'));
  next.dispose();
  t.false((await text()).includes('evolution_signals_total'));
});

test('the same metric declared twice in one generation is one', async (t) => {
  const { registry, text } = make();
  const metrics = createPluginMetrics(registry, 'evolution');
  t.is(metrics.counter(signals), metrics.counter(signals));
  metrics.dispose();
  t.false((await text()).includes('evolution_signals_total'));
});

test('another definition under a used name is refused and names both owners', (t) => {
  const { registry } = make();
  createPluginMetrics(registry, 'alpha').counter({
    name: 'svc_calls_total',
    help: 'Calls.',
    labels: ['kind'],
  });
  const beta = createPluginMetrics(registry, 'beta');
  const error = t.throws(() => beta.counter({ name: 'svc_calls_total', help: 'Calls.' }), {
    code: 'metric.name-taken',
  });
  t.regex(error.message, /plugin "beta".*plugin "alpha" \(counter \{kind\}\)$/);
  t.throws(() => beta.gauge({ name: 'svc_calls_total', help: 'Calls.', labels: ['kind'] }), {
    code: 'metric.name-taken',
  });
});

test('a generation that changes a metric of the one before is told how it may', (t) => {
  const { registry } = make();
  createPluginMetrics(registry, 'evolution').counter(signals);
  const changed = { ...signals, labels: ['signal_type', 'agent'] } as const;
  const next = createPluginMetrics(registry, 'evolution');
  t.throws(() => next.counter(changed), {
    message: /: use another name, or disable the plugin, reload it, and enable it$/,
  });
});

test('the names that a histogram exposes are used too', (t) => {
  const { registry } = make();
  createPluginMetrics(registry, 'alpha').histogram({ name: 'svc_call', help: 'Calls.' });
  const beta = createPluginMetrics(registry, 'beta');
  t.throws(() => beta.counter({ name: 'svc_call_count', help: 'Calls.' }), { code: 'metric.name-taken' });
});

test('the names of the kernel are not for plugins', (t) => {
  const { registry } = make();
  const error = t.throws(() =>
    createPluginMetrics(registry, 'alpha').counter({ name: 'svc_http_requests_total', help: 'Mine.' }),
  );
  t.regex(error.message, /plugin "alpha".*the kernel/);
});

test('a refused declaration leaves nothing behind', async (t) => {
  const { registry, text } = make();
  const alpha = createPluginMetrics(registry, 'alpha');
  alpha.counter({ name: 'svc_calls_total', help: 'Calls.' });
  const beta = createPluginMetrics(registry, 'beta');
  t.throws(() => beta.gauge({ name: 'svc_calls_total', help: 'Calls.' }));
  beta.dispose();
  t.true((await text()).includes('svc_calls_total'));
  alpha.dispose();
  t.false((await text()).includes('svc_calls_total'));
});

const WRONG = [
  { name: 'requests_total', help: 'x' },
  { name: 'evolution_x', help: 'x' },
  { name: 'svc_a-b', help: 'x' },
  { name: 'svc_a:b', help: 'x' },
  { name: 'svc_a\nb', help: 'x' },
  { name: 'svc_a', help: ' ' },
  { name: 'svc_a', help: 'x', labels: ['__name__'] },
  { name: 'svc_a', help: 'x', labels: ['le'] },
  { name: 'svc_a', help: 'x', labels: ['a b'] },
  { name: 'svc_a', help: 'x', labels: ['a', 'a'] },
  { name: 'svc_a', help: 'x', buckets: [2, 1] },
  { name: 'svc_a', help: 'x', buckets: [Number.NaN] },
];

for (const options of WRONG) {
  test(`the declaration ${JSON.stringify(options)} is refused`, (t) => {
    const metrics = createPluginMetrics(make().registry, 'my-plugin');
    t.throws(() => metrics.histogram(options), { code: 'metric.invalid' });
  });
}

test('a plugin may use its own name as a prefix, with dashes as underscores', (t) => {
  const metrics = createPluginMetrics(make().registry, 'my-plugin');
  t.notThrows(() => metrics.gauge({ name: 'my_plugin_things', help: 'Things.' }));
});

test('nothing can be declared after dispose', (t) => {
  const metrics = createPluginMetrics(make().registry, 'my-plugin');
  metrics.dispose();
  t.throws(() => metrics.gauge({ name: 'svc_x', help: 'x' }), { code: 'metric.invalid' });
});
