import type { TenantEntityManager } from 'agent-gateway';
import test from 'ava';
import fc from 'fast-check';
import { auto, buildGraph, chain, end, fork, human, start } from '../core/graph-builder.ts';
import type { Ledger } from './memory-store.ts';
import { type Replica, settle, World } from './world.ts';

const retry = { maxAttempts: 10, delayMs: 500, backoff: 'fixed', maxDelayMs: 500 } as const;
const graph = buildGraph(
  { start, a: auto(), b: auto({ retry }), c: auto(), d: auto(), task: human(), join: auto(), end },
  [
    ['start', 'a'],
    ['start', 'task'],
    ['a', 'b'],
    ['a', 'c'],
    ['a', 'd'],
    ['b', 'join'],
    ['c', 'join'],
    ['d', 'join'],
    ['task', 'join'],
    ['join', 'end'],
  ],
);

/** What happens in one second: a number decides what. */
const happenings = fc.array(fc.nat(1_000), { minLength: 5, maxLength: 60 });

test('whatever is lost, hangs, crashes or stops, every run is completed in the end, each step once', async (t) => {
  await fc.assert(
    fc.asyncProperty(happenings, async (numbers) => {
      const world = new World(graph);
      const options = { hints: numbers.length % 2 === 0, limits: { concurrency: 3 } };
      const replicas: Replica[] = [await world.replica(options), await world.replica(options)];
      for (let run = 0; run < 6; run += 1) await replicas[run % 2]!.run(`tenant-${run % 3}`);
      for (const number of numbers) {
        const replica = replicas[number % replicas.length]!;
        const kind = number % 13;
        const method = (['commit', 'read', 'create', 'renew', 'due', 'orphans'] as const)[number % 6]!;
        if (kind < 3) replica.store.fail(method, 'lost', 'unheard');
        else if (kind === 3) replica.store.fail('commit', 'unheard', 'unheard');
        else if (kind === 4) replica.store.isAway = !replica.store.isAway;
        else if (kind === 5) await replace(world, replicas, replica, options, 'crash');
        else if (kind === 6) await replace(world, replicas, replica, options, 'close');
        else if (kind === 7) world.database.workers.clear();
        else if (kind === 8) void complete(world, replica, number);
        else end_(replica, number);
        void sweep(replica);
        await world.time.advance(number * 3);
      }
      for (const replica of replicas) replica.store.isAway = false;
      await finish(world, replicas);
    }),
    { numRuns: 60 },
  );
  t.pass();
});

/** Ends some of the steps that are under way, one of them badly. */
function end_(replica: Replica, number: number): void {
  for (const [index, work] of replica.works.entries()) {
    if ((index + number) % 3 === 0) work.succeed({ by: number });
    else if ((index + number) % 11 === 0 && work.step.nodeId === 'b') work.fail(new Error('broken'));
  }
}

async function replace(
  world: World,
  replicas: Replica[],
  replica: Replica,
  options: object,
  how: 'crash' | 'close',
): Promise<void> {
  if (how === 'crash') replica.crash();
  else {
    const closed = replica.close(AbortSignal.abort());
    await world.time.advance(11_000);
    await closed;
  }
  replicas.splice(replicas.indexOf(replica), 1, await world.replica(options));
}

/** Somebody completes a task; he may be told that the database is away. */
async function complete(world: World, replica: Replica, number: number): Promise<void> {
  const run = world.database.runs()[number % 6];
  const task = run?.steps.get('task');
  if (run === undefined || task === undefined) return;
  const completion = { type: 'task_completed', stepId: task.id, by: 'bob', payload: {} } as const;
  await replica.do(run.id, completion).catch(() => undefined);
}

async function sweep(replica: Replica): Promise<void> {
  await replica.sweepNow().catch(() => undefined);
}

async function finish(world: World, replicas: readonly Replica[]): Promise<void> {
  for (let turn = 0; turn < 60; turn += 1) {
    for (const [index, run] of world.database.runs().entries()) {
      // He may be told that it is not known whether it was done.
      if (run.status === 'paused')
        void replicas[0]!.do(run.id, { type: 'retry', by: 'anna' }).catch(() => {});
      void complete(world, replicas[index % replicas.length]!, index);
    }
    for (const replica of replicas) {
      for (const work of replica.works) work.succeed({ late: true });
      void sweep(replica);
    }
    await world.time.advance(2_000);
    if (world.database.runs().every(({ status }) => status === 'completed')) break;
  }
  await settle();
  for (const run of world.database.runs()) {
    if (run.status !== 'completed') throw new Error(`run ${run.id} is ${run.status}`);
    const told = world.database.events(run.id);
    if (told.some(({ seq }, index) => seq !== index + 1)) throw new Error('the events have a gap');
    const completed = told.filter(({ type }) => type === 'step.completed').map(({ nodeId }) => nodeId);
    if (new Set(completed).size !== completed.length) throw new Error('a step was completed twice');
  }
  for (const replica of replicas) if (replica.running !== 0) throw new Error('a call was forgotten');
}

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
