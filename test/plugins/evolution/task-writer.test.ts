import type { Database } from 'agent-gateway';
import test from 'ava';
import pino from 'pino';
import type { ExperiencedRun } from '../../../plugins/agent-engine/contract.ts';
import evolution from '../../../plugins/evolution/plugin.ts';
import { createEvolutionExperience } from '../../../plugins/evolution/services/learn/experience.ts';
import { createTaskWriter } from '../../../plugins/evolution/services/learn/task-writer.ts';
import { type TaskRow, TaskTable } from '../../../plugins/evolution/store/tables.ts';
import { manualClock, startTestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';

/** A writer over a database that does what `insert` does. */
function writerOver(
  insert: (tenantId: string, rows: readonly TaskRow[]) => Promise<void>,
  log = pino({ enabled: false }),
) {
  const counts = { dropped: 0, failed: 0 };
  const writer = createTaskWriter({
    database: {
      forTenant: (tenantId: string) => ({
        insertMany: (_table: unknown, rows: readonly TaskRow[]) => insert(tenantId, rows),
      }),
    } as unknown as Pick<Database, 'forTenant'>,
    clock: manualClock(),
    log,
    metrics: {
      dropped: (tasks) => {
        counts.dropped += tasks;
      },
      failed: (tasks) => {
        counts.failed += tasks;
      },
    },
  });
  return { writer, counts };
}

const task = (tenantId: string, id: number) => ({ tenantId, id: `${id}` }) as TaskRow;
const forever = new AbortController().signal;

test('runs of one tenant are written together, and of all tenants in turn', async (t) => {
  const batches: [string, number][] = [];
  const { writer, counts } = writerOver(async (tenantId, rows) => void batches.push([tenantId, rows.length]));
  for (let n = 0; n < 100; n += 1) writer.write(task('busy', n));
  writer.write(task('quiet', 1));
  await writer.finish(forever);
  t.deepEqual(batches, [
    ['busy', 64],
    ['quiet', 1],
    ['busy', 36],
  ]);
  t.deepEqual(counts, { dropped: 0, failed: 0 });
});

test('at most 64 writes are under way; what then does not fit is dropped and counted', async (t) => {
  let underWay = 0;
  const writes: (() => void)[] = [];
  const { writer, counts } = writerOver(async () => {
    underWay += 1;
    t.true(underWay <= 64);
    await new Promise<void>((resolve) => writes.push(resolve));
    underWay -= 1;
  });
  for (let tenant = 0; tenant < 100; tenant += 1) writer.write(task(`${tenant}`, tenant));
  const finished = writer.finish(forever);
  t.is(underWay, 64);
  for (let n = 0; n < 5_000; n += 1) writer.write(task('busy', n));
  t.is(counts.dropped, 5_000 - (4_096 - 36));
  const release = setInterval(() => {
    for (const end of writes.splice(0)) end();
  }, 1);
  await finished;
  clearInterval(release);
  t.is(counts.failed, 0);
});

test('what the database refuses is counted, and the next is written all the same', async (t) => {
  const stored: string[] = [];
  const { writer, counts } = writerOver(async (tenantId) => {
    if (tenantId === 'broken') throw new Error('no');
    stored.push(tenantId);
  });
  writer.write(task('broken', 1));
  writer.write(task('broken', 2));
  writer.write(task('whole', 3));
  await writer.finish(forever);
  t.deepEqual([counts, stored], [{ dropped: 0, failed: 2 }, ['whole']]);
});

test('a write is given up after 5 s', async (t) => {
  t.timeout(20_000);
  const { writer, counts } = writerOver(() => new Promise(() => {}));
  writer.write(task('slow', 1));
  await writer.finish(forever);
  t.is(counts.failed, 1);
});

test('a run that ends after the plugin was stopped is dropped, counted and logged, and asks no table that is gone', async (t) => {
  const stored: string[] = [];
  const lines: { err: { message: string } }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { writer, counts } = writerOver(async (tenantId) => void stored.push(tenantId), log);
  await writer.finish(forever);
  writer.write(task('before', 1));
  await writer[Symbol.asyncDispose]();
  writer.write(task('after', 2));
  await writer.finish(forever);
  t.deepEqual([counts, stored], [{ dropped: 1, failed: 0 }, ['before']]);
  t.deepEqual(
    lines.map(({ err }) => err.message),
    ['The run ended after the plugin was stopped or reloaded'],
  );
});

eachGatewayDatabase(
  test,
  'a tool whose name no database keeps costs no other run its record',
  async (t, { environment }) => {
    const gateway = await startTestGateway({ plugins: [evolution], env: environment });
    t.teardown(gateway.stop);
    const { services } = gateway.gateway;
    const { id: tenantId } = await gateway.makeTenant();
    const failed: number[] = [];
    const counts = { dropped() {}, failed: (tasks: number) => void failed.push(tasks) };
    const writer = createTaskWriter({ ...services, log: pino({ enabled: false }), metrics: counts });
    const { begin } = createEvolutionExperience({
      ...services,
      writer,
      playbooks: { of: () => ({ classes: new Map(), byClass: new Map() }), forget() {}, clear() {} },
      settings: { min_confidence: 0.5, max_suggestions: 3, holdout: 0 },
      metrics: { signal() {}, served() {} },
    });
    for (const ref of ['mcp://shop/find', 'mcp://shop/a\0b', 'mcp://shop/\ud800']) {
      const run = { tenantId, agent: 'clerk', task: 'add', requestId: 'r', tools: [], taskClass: 'sums' };
      const { tell, end } = (await begin(run as unknown as ExperiencedRun))!;
      tell({ type: 'model_invoke', component: 'demo', durationMs: 1, isError: false });
      tell({ type: 'tool_success', component: ref, durationMs: 1 });
      end?.();
    }
    await writer.finish(forever);
    const rows = await services.database.forTenant(tenantId).rows(TaskTable, {}, { limit: 10 });
    t.deepEqual(
      rows.map(({ components }) => components).toSorted((a, b) => size(b) - size(a)),
      [{ 'model/demo': 1, 'mcp://shop/find': 1 }, { 'model/demo': 1 }, { 'model/demo': 1 }],
    );
    t.deepEqual(failed, []);
  },
);

const size = (components: object) => Object.keys(components).length;
