import test from 'ava';
import { auto, buildGraph, chain, end, fork, human, start } from '../core/graph-builder.ts';
import { instantly, settle, World } from './world.ts';

test('steps beyond the places wait, and are taken from the database as places come free', async (t) => {
  const world = new World(chain(1));
  // No hint reaches anybody: what is left behind is found by asking.
  const replica = await world.replica({ hints: false, limits: { concurrency: 2 } });
  for (let run = 0; run < 50; run += 1) await replica.run();
  t.is(replica.running, 2);
  for (let done = 0; done < 50; done += 1) {
    replica.works[done]!.succeed();
    await settle();
    t.true(replica.running <= 2);
  }
  t.true(world.database.runs().every(({ status }) => status === 'completed'));
  t.true(replica.store.count('due') <= 10, `${replica.store.count('due')} questions`);
});

test('a sweep begins to work off a backlog that others left', async (t) => {
  const world = new World(chain(1));
  const full = await world.replica({ hints: false, limits: { concurrency: 1 } });
  for (let run = 0; run < 100; run += 1) await full.run();
  full.crash();
  await world.time.advance(11_000);
  const replica = await world.replica({ execute: instantly, hints: false, limits: { concurrency: 4 } });
  await replica.sweepNow();
  await settle();
  t.true(world.database.runs().every(({ status }) => status === 'completed'));
});

test('a step of a run with more branches than places begins when one of them ends', async (t) => {
  const nodes = ['a', 'b', 'c', 'd'];
  const graph = buildGraph({ start, ...Object.fromEntries(nodes.map((id) => [id, auto()])), end }, [
    ...nodes.map((id) => ['start', id] as const),
    ...nodes.map((id) => [id, 'end'] as const),
  ]);
  const world = new World(graph);
  const replica = await world.replica({ limits: { concurrency: 2 } });
  const runId = await replica.run();
  t.is(replica.running, 2);
  for (let done = 0; done < 4; done += 1) {
    replica.works[done]!.succeed();
    await settle();
  }
  t.is(world.database.run(runId).status, 'completed');
});

test('branches that found no place are begun when another run ends', async (t) => {
  const graph = fork(['a', 'b']);
  const world = new World(graph);
  const replica = await world.replica({ limits: { concurrency: 3 } });
  const first = await replica.run();
  const second = await replica.run();
  t.is(replica.running, 3);
  replica.works.find(({ run }) => run.id === first)!.succeed();
  await settle();
  t.is(replica.works.filter(({ run }) => run.id === second).length, 2);
});

test('a tenant that floods the process does not keep another one waiting for longer than a step', async (t) => {
  const world = new World(chain(10));
  const replica = await world.replica({ limits: { concurrency: 4 } });
  for (let run = 0; run < 40; run += 1) await replica.run('flood');
  await world.time.advance(0);
  t.is(replica.running, 4);
  const runId = await replica.run('small');
  await world.time.advance(0);
  let ended = 0;
  while (world.database.run(runId).status !== 'completed') {
    // The flood has the oldest step; whoever is first in turn ends.
    const work = replica.works[ended];
    ended += 1;
    work!.succeed();
    await world.time.advance(0);
  }
  // Its ten steps, and the steps of the flood that were before each of them.
  t.true(ended <= 10 * 4 + 4, `${ended} steps`);
});

test('two floods share the places', async (t) => {
  const world = new World(chain(3));
  const replica = await world.replica({ limits: { concurrency: 8 } });
  for (let run = 0; run < 30; run += 1) await replica.run('one');
  for (let run = 0; run < 30; run += 1) await replica.run('two');
  await world.time.advance(0);
  for (let ended = 0; ended < 40; ended += 1) {
    replica.works[ended]!.succeed();
    await world.time.advance(0);
  }
  const inHand = replica.works.slice(40).map(({ run }) => run.tenantId);
  t.is(inHand.length, 8);
  t.is(inHand.filter((tenantId) => tenantId === 'one').length, 4);
});

test('with one place, two tenants take turns even within their runs', async (t) => {
  const world = new World(chain(4));
  const replica = await world.replica({ limits: { concurrency: 1 } });
  await replica.run('one');
  await replica.run('two');
  await world.time.advance(0);
  for (let ended = 0; ended < 8; ended += 1) {
    replica.works[ended]!.succeed();
    await world.time.advance(0);
  }
  t.deepEqual(
    replica.works.map(({ run }) => run.tenantId),
    ['one', 'two', 'one', 'two', 'one', 'two', 'one', 'two'],
  );
});

test('a task times out although all places are taken', async (t) => {
  const graph = buildGraph({ start, task: human({ timeoutMs: 60_000 }), a: auto(), end }, [
    ['start', 'task'],
    ['start', 'a'],
    ['task', 'end', 'timeout'],
    ['task', 'end'],
    ['a', 'end'],
  ]);
  const world = new World(graph);
  const replica = await world.replica({ limits: { concurrency: 1, leaseMs: 600_000 } });
  await replica.run();
  const waiting = await replica.run();
  await world.time.advance(60_000);
  await replica.sweepNow();
  t.is(world.step(waiting, 'task').outcome, 'timeout');
  t.is(world.step(waiting, 'a').status, 'pending');
});

test('work that nobody can begin is not asked for without end', async (t) => {
  const world = new World(chain(1));
  const full = await world.replica({ hints: false, limits: { concurrency: 1 } });
  for (let run = 0; run < 100; run += 1) await full.run();
  full.crash();
  const replica = await world.replica({ hints: false, limits: { concurrency: 4, leaseMs: 600_000 } });
  replica.store.before = (method) => {
    if (method === 'read') throw new Error('unreadable');
  };
  await replica.sweepNow();
  await settle();
  const asked = replica.store.count('due');
  await world.time.advance(60_000);
  t.is(replica.store.count('due'), asked);
  t.true(asked <= 3, `${asked} questions`);
});
