import test from 'ava';
import { createMetrics } from '../../../foundation/observability/metrics.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';

const make = () => createMetrics({ version: '1', process: false });
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
  t.regex(error.message, /plugin "beta".*plugin "alpha"/);
  t.throws(() => beta.gauge({ name: 'svc_calls_total', help: 'Calls.', labels: ['kind'] }), {
    code: 'metric.name-taken',
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
