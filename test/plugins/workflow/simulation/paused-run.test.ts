import type { Logger } from 'agent-gateway';
import test from 'ava';
import { type Graph, StepFailure } from '../../../../plugins/workflow/contract.ts';
import { compileGraph } from '../../../../plugins/workflow/services/graph/compile-graph.ts';
import { createRunner } from '../../../../plugins/workflow/services/runner/create-runner.ts';
import { NO_METRICS } from '../no-metrics.ts';
import { createMemoryStore } from './memory-store.ts';
import { startProcess } from './process.ts';
import { createRandom } from './random.ts';
import { NODE_TYPES, WORK } from './random-graph.ts';
import { createScheduler } from './scheduler.ts';
import { createTrace } from './trace.ts';

const work = (id: string) => ({ id, type: WORK, config: { saw: '', all: '' } });
const GRAPH: Graph = {
  nodes: [
    { id: 'start', type: 'start' },
    ...['fails', 'ends', 'goes-on', 'next'].map(work),
    { id: 'end', type: 'end' },
  ],
  edges: [
    ...['fails', 'ends', 'goes-on'].map((to) => ({ from: 'start', to })),
    { from: 'ends', to: 'next' },
    ...['fails', 'goes-on', 'next'].map((from) => ({ from, to: 'end' })),
  ],
};

// Its owner looked for the pending step again and again, without ever waiting for anything: the whole process stood
// still.
test('a paused run with a step that goes on and one that is pending leaves its process alone', async (t) => {
  const random = createRandom('paused');
  const scheduler = createScheduler(random, createTrace(100));
  const spins: string[] = [];
  const process = startProcess({
    name: 'p1',
    drift: 0,
    scheduler,
    random,
    spins: () => spins.push('p1 spins'),
  });
  const now = () => Math.floor(scheduler.now);
  const store = createMemoryStore({ now });
  const nothing = () => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => log };
  let ids = 0;
  const runner = createRunner({
    store: store.connect('p1'),
    graphs: { get: async () => compileGraph(GRAPH, NODE_TYPES) },
    execute: ({ step: { nodeId } }) =>
      new Promise((resolve, reject) => {
        if (nodeId === 'fails') reject(new StepFailure('x', 'x', { isRetryable: false }));
        if (nodeId === 'ends' || nodeId === 'next') process.deliver(10, '', () => resolve({ output: {} }));
        if (nodeId === 'goes-on') process.deliver(1000, '', () => resolve({ output: {} }));
      }),
    notifier: { poll: nothing, changed: nothing },
    clock: { now },
    timers: process.timers,
    limits: { maxSteps: 50, stepTimeoutMs: 60_000, leaseMs: 10_000, sweepIntervalMs: 5000, concurrency: 8 },
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    log: log as unknown as Logger,
    sinksOf: () => [],
    committed: nothing,
    metrics: NO_METRICS.runner,
  });

  await runner.open();
  const run = { tenantId: 't', definitionId: 'd', versionId: 'v', version: 1, input: {}, startedBy: 'me' };
  const started = await runner.start(run);
  const runId = 'state' in started ? started.state.id : started.existing.runId;
  const statuses = () =>
    [...store.run(runId)!.state.steps.values()].map(({ nodeId, status }) => `${nodeId} ${status}`).sort();
  await scheduler.runUntil(500);
  t.deepEqual(spins, []);
  t.is(store.run(runId)!.state.status, 'paused');
  t.deepEqual(statuses(), [
    'ends completed',
    'fails failed',
    'goes-on running',
    'next pending',
    'start completed',
  ]);
  await scheduler.runUntil(2000);
  t.deepEqual(spins, []);
  t.true(statuses().includes('goes-on completed'));
});
