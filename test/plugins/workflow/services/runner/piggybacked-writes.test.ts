import type { TenantEntityManager } from 'agent-gateway';
import test from 'ava';
import { auto, buildGraph, chain, end, fork, human, start } from '../core/graph-builder.ts';
import type { Ledger } from './memory-store.ts';
import { settle, World } from './world.ts';

const noting = (row: string) => async (entities: TenantEntityManager) =>
  (entities as unknown as Ledger).note(row);

test('what a step writes beside its output is stored with it', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  await replica.run();
  replica.work('n1').succeed({}, noting('spent 3'));
  await settle();
  t.deepEqual(world.database.ledger, ['spent 3']);
});

test('it is stored once, whichever way an answer is lost', async (t) => {
  for (const fault of ['lost', 'unheard'] as const) {
    const world = new World(chain(1));
    const replica = await world.replica();
    const runId = await replica.run();
    replica.store.fail('commit', fault);
    replica.work('n1').succeed({}, noting('spent 3'));
    await world.time.advance(1_000);
    t.is(world.database.run(runId).status, 'completed');
    t.deepEqual(world.database.ledger, ['spent 3'], fault);
  }
});

test('it is not stored when the step was cancelled meanwhile', async (t) => {
  const world = new World(chain(1));
  const owner = await world.replica({ hints: false });
  const other = await world.replica({ hints: false });
  const runId = await owner.run();
  await other.do(runId, { type: 'cancel', by: 'anna' });
  owner.work('n1').succeed({}, noting('spent 3'));
  await settle();
  t.is(world.database.run(runId).status, 'cancelled');
  t.deepEqual(world.database.ledger, []);
});

test('it is stored after a conflict', async (t) => {
  const graph = fork(['a', 'b']);
  const world = new World(graph);
  const replica = await world.replica();
  const runId = await replica.run();
  let isFirst = true;
  replica.store.before = (method) => {
    if (method !== 'commit' || !isFirst) return;
    isFirst = false;
    const stored = world.database.run(runId);
    Object.assign(stored, { revision: stored.revision + 1 });
  };
  replica.work('a').succeed({}, noting('a'));
  await settle();
  t.is(world.step(runId, 'a').status, 'completed');
  t.deepEqual(world.database.ledger, ['a']);
});

test('it is not stored when the step fails by the rules of the graph', async (t) => {
  const graph = buildGraph({ start, a: auto(), end }, [
    ['start', 'a'],
    ['a', 'end', () => false],
  ]);
  const world = new World(graph);
  const replica = await world.replica();
  const runId = await replica.run();
  replica.work('a').succeed({}, noting('a'));
  await settle();
  t.is(world.step(runId, 'a').error?.code, 'no_matching_edge');
  t.deepEqual(world.database.ledger, []);
});

test('two steps with writes of their own are two commits', async (t) => {
  const graph = fork(['a', 'b', 'c']);
  const world = new World(graph);
  const replica = await world.replica();
  const runId = await replica.run();
  const letGo = replica.store.hold('commit');
  replica.work('a').succeed();
  await settle();
  replica.work('b').succeed({}, noting('b'));
  await settle();
  replica.work('c').succeed({}, noting('c'));
  await settle();
  letGo();
  await settle();
  t.is(world.database.run(runId).status, 'completed');
  t.is(replica.store.count('commit'), 3);
  t.deepEqual(world.database.ledger, ['b', 'c']);
});

test('it is not stored again with what time brings, when the answer was lost', async (t) => {
  const graph = buildGraph({ start, a: auto(), task: human({ timeoutMs: 1_000 }), end }, [
    ['start', 'a'],
    ['start', 'task'],
    ['task', 'end'],
    ['a', 'end'],
  ]);
  const world = new World(graph);
  const replica = await world.replica({ hints: false });
  const runId = await replica.run();
  replica.store.fail('commit', 'unheard');
  replica.store.fail('read', 'lost', 'lost', 'lost', 'lost', 'lost');
  replica.work('a').succeed({}, noting('spent 3'));
  await world.time.advance(5_000);
  t.like(world.statuses(runId), { a: 'completed', task: 'failed' });
  t.deepEqual(world.database.ledger, ['spent 3']);
});
