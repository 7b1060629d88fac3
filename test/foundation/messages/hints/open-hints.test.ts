import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { createMetricRegistry } from '../../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../../foundation/observability/plugin-metrics.ts';
import { freshDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { openTold, Steps } from './hint-forms.ts';

test('SQLite, and MySQL without Redis, have a queue in the process', async (t) => {
  for (const family of ['sqlite', 'mysql'] as const) {
    const { queue, lines, counts } = await openTold(t, { family });
    t.is(queue.form, 'process');
    t.is(lines[0].form, 'process');
    // Of several replicas only one can have a SQLite file.
    t.is(
      lines.some(({ msg }) => /no other replica.*REDIS_URL/.test(msg)),
      family === 'mysql',
    );
    const got: number[] = [];
    queue.listen(Steps, async ({ n }) => void got.push(n));
    t.true(await queue.send(Steps, { n: 1 }));
    await until(() => got.length === 1);
    t.true(counts.includes('published workflow.steps ok'));
  }
});

test('a malformed prefix is refused', async (t) => {
  for (const prefix of ['', 'a:b', 'A', '1a', 'a"; drop table x; --', 'x'.repeat(41)]) {
    await t.throwsAsync(openTold(t, { prefix }), { instanceOf: TypeError });
  }
});

test('publishing inside a transaction is refused', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const { openDatabase } = await import('../../../../foundation/data/database.ts');
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const { queue } = await openTold(t, {});
  await t.throwsAsync(
    database.system().transactional(async () => {
      await queue.send(Steps, { n: 1 });
    }),
    { message: /publishing to the queue workflow\.steps/ },
  );
});

test('the process form loads neither BullMQ, ioredis nor pg', async (t) => {
  const foundation = new URL('../../../../foundation/', import.meta.url);
  const script = `
    import { createRequire } from 'node:module';
    import { openEvents } from '${new URL('messages/events/open-events.ts', foundation)}';
    import { openHints } from '${new URL('messages/hints/open-hints.ts', foundation)}';
    import { systemClock } from '${new URL('base/clock.ts', foundation)}';
    import { createIds } from '${new URL('base/ids.ts', foundation)}';
    const log = { info() {}, child() { return log; } };
    const metric = () => ({ inc() {}, set() {}, observe() {} });
    const common = { clock: systemClock, ids: createIds(systemClock), log, metrics: { counter: metric, gauge: metric, histogram: metric } };
    const events = openEvents(common);
    const queue = await openHints({ ...common, events, database: { family: 'sqlite' } });
    await queue.close();
    await events.close();
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify(loaded.filter((file) => /node_modules.(bullmq|ioredis|pg)./.test(file))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  t.deepEqual(JSON.parse(stdout), []);
});

test('what the queue does is counted and timed', async (t) => {
  const registry = createMetricRegistry();
  const { queue } = await openTold(t, { metrics: createPluginMetrics(registry, 'kernel') });
  let calls = 0;
  queue.listen(Steps, async ({ n }) => {
    calls += 1;
    if (n === 2) throw new Error('no luck');
  });
  await queue.send(Steps, { n: 1 });
  await queue.send(Steps, { n: 2 });
  await until(() => calls === 2);
  await until(async () => (await registry.prometheus.metrics()).includes('result="failed"'));
  const text = await registry.prometheus.metrics();
  t.true(text.includes('svc_queue_published_total{queue="workflow.steps",result="ok"} 2'));
  t.true(text.includes('svc_queue_deliveries_total{queue="workflow.steps",result="ok"} 1'));
  t.true(text.includes('svc_queue_deliveries_total{queue="workflow.steps",result="failed"} 1'));
  t.true(text.includes('svc_queue_delivery_seconds_count{queue="workflow.steps"} 2'));
});
