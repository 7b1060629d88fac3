import test from 'ava';
import type { Commit } from '../../../../../plugins/workflow/services/ports/run-store.ts';
import { chain, fork } from '../core/graph-builder.ts';
import { instantly, newRun, settle, World } from './world.ts';

const threeBranches = fork(['a', 'b', 'c']);

const twoBranches = fork(['a', 'b']);

test('a result meets a change of another replica, and both are stored', async (t) => {
  const world = new World(twoBranches);
  const owner = await world.replica({ hints: false });
  const other = await world.replica({ hints: false });
  const runId = await owner.run();
  await other.do(runId, { type: 'cancel', by: 'anna' });
  owner.work('a').succeed();
  await settle();
  t.is(world.database.run(runId).status, 'cancelled');
  t.true(owner.work('b').signal.aborted);
  t.is(owner.observed.conflict, 1);
  t.is(owner.observed.late, 1);
});

test('of two replicas that see the same work one gets it', async (t) => {
  const world = new World(chain(1));
  const first = await world.replica({ hints: false, limits: { concurrency: 1 } });
  const second = await world.replica({ hints: false, limits: { concurrency: 1 } });
  await first.run();
  const runId = await first.run();
  first.work('n1').succeed();
  await settle();
  // The one that had room has taken it at once; a look of the other finds it owned.
  t.is(first.works.length, 2);
  await second.poll({ tenantId: 'tenant', runId });
  t.is(second.works.length, 0);
});

test('a look of both at the same time gives one claim', async (t) => {
  const world = new World(chain(1));
  const busy = await world.replica({ hints: false, limits: { concurrency: 1 } });
  await busy.run();
  const runId = await busy.run();
  const first = await world.replica({ hints: false });
  const second = await world.replica({ hints: false });
  const place = { tenantId: 'tenant', runId };
  await Promise.all([first.poll(place), second.poll(place)]);
  t.is(first.works.length + second.works.length, 1);
});

test('whoever asks is told that the run is busy when others are always faster', async (t) => {
  const world = new World(twoBranches);
  const owner = await world.replica({ hints: false });
  const other = await world.replica({ hints: false });
  const runId = await owner.run();
  let isMeddling = false;
  other.store.before = (method) => {
    if (method !== 'commit' || isMeddling) return;
    isMeddling = true;
    // Somebody else stores a revision between the read and the write.
    const stored = world.database.run(runId);
    Object.assign(stored, { revision: stored.revision + 1 });
    isMeddling = false;
  };
  const asked = t.throwsAsync(other.do(runId, { type: 'cancel', by: 'anna' }), {
    code: 'workflow.busy',
  });
  await world.time.advance(2_000);
  await asked;
  t.is(other.store.count('commit'), 11);
});

test('the result of a step is tried however many are faster', async (t) => {
  const world = new World(chain(1));
  const owner = await world.replica({ hints: false });
  const runId = await owner.run();
  let conflicts = 0;
  owner.store.before = (method) => {
    if (method !== 'commit' || conflicts === 30) return;
    conflicts += 1;
    const stored = world.database.run(runId);
    Object.assign(stored, { revision: stored.revision + 1 });
  };
  owner.work('n1').succeed();
  await world.time.advance(4_000);
  t.is(conflicts, 30);
  t.is(world.database.run(runId).status, 'completed');
});

test('a write that was stored, of which the answer was lost, is not done twice', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.store.fail('commit', 'unheard');
  replica.work('n1').succeed({ value: 1 });
  await world.time.advance(1_000);
  t.like(world.statuses(runId), { n1: 'completed', n2: 'running' });
  // The step that the lost answer spoke of was begun, once.
  t.is(replica.works.length, 2);
  t.is(replica.work('n2').step.delivery, 1);
  replica.work('n2').succeed();
  await settle();
  t.is(world.database.run(runId).status, 'completed');
  t.is(replica.running, 0);
});

test('a write that was not stored is done again', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.store.fail('commit', 'lost', 'lost');
  replica.work('n1').succeed({ value: 1 });
  await world.time.advance(1_000);
  t.deepEqual(world.step(runId, 'n1').output, { value: 1 });
  t.is(replica.work('n2').step.delivery, 1);
});

test('a database that is away is one line of the log a minute, whatever meets it', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica();
  for (let round = 0; round < 5; round += 1) {
    await replica.run();
    replica.store.fail('commit', 'away');
    replica.work('n1').succeed();
    await world.time.advance(1_000);
  }
  t.is(replica.log.length, 1);
  await world.time.advance(60_000);
  await replica.run();
  replica.store.fail('commit', 'away');
  replica.work('n1').succeed();
  await world.time.advance(1_000);
  t.is(replica.log.length, 2);
  t.is(JSON.parse(replica.log[1]!).count, 5);
});

test('a start of which the answer was lost gives the run, begun once', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  replica.store.fail('create', 'unheard');
  const asked = replica.start(newRun);
  await world.time.advance(1_000);
  const started = await asked;
  t.is(world.database.runs().length, 1);
  t.true('state' in started && started.state.id === world.database.runs()[0]!.id);
  t.is(replica.works.length, 1);
  t.is(replica.running, 1);
});

test('a start that could not be stored is told after a bounded time, and its places are free again', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { concurrency: 1, leaseMs: 60_000 } });
  replica.store.isAway = true;
  const asked = t.throwsAsync(replica.start(newRun), { message: /connection was lost/ });
  await world.time.advance(6_000);
  await asked;
  replica.store.isAway = false;
  await world.time.advance(10_000);
  t.is(world.database.runs().length, 0);
  await replica.run();
  t.is(replica.running, 1);
});

test('a start that seems to have failed and is stored all the same is carried on', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 60_000 } });
  replica.store.before = (method) => {
    replica.store.isAway = method === 'create' || replica.store.count('create') > 1;
  };
  replica.store.fail('create', 'unheard');
  let isFirst = true;
  replica.store.before = (method) => {
    if (method === 'create') replica.store.isAway = !isFirst;
    if (method === 'create') isFirst = false;
  };
  const asked = t.throwsAsync(replica.start(newRun), { message: /connection was lost/ });
  await world.time.advance(6_000);
  await asked;
  t.is(world.database.runs().length, 1);
  t.is(replica.works.length, 0);
  replica.store.isAway = false;
  replica.store.before = () => {};
  await world.time.advance(10_000);
  t.is(replica.works.length, 1);
});

test('whoever asks while the database is away gets its error after a bounded time', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 60_000 } });
  const runId = await replica.run();
  replica.store.isAway = true;
  const asked = t.throwsAsync(replica.do(runId, { type: 'cancel', by: 'anna' }), {
    message: /connection was lost/,
  });
  await world.time.advance(5_000);
  await asked;
});

test('whoever asks gets an error after a bounded time from a database that says nothing at all', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.store.hold('read');
  replica.store.hold('commit');
  const asked = t.throwsAsync(replica.do(runId, { type: 'cancel', by: 'anna' }), {
    code: 'database.unavailable',
  });
  await world.time.advance(5_000);
  await asked;
});

test('whoever asks on a full disk is told at once; results are kept, and whoever asks later is tried', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 60_000 } });
  const runId = await replica.run();
  replica.store.before = (method) => {
    if (method === 'create' || method === 'commit')
      throw Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL' });
  };
  replica.work('n1').succeed();
  await settle();
  const cancel = { type: 'cancel', by: 'anna' } as const;
  await world.time.advance(50);
  await Promise.all([
    t.throwsAsync(replica.start(newRun), { message: 'the disk is full' }),
    t.throwsAsync(Promise.all([replica.do(runId, cancel), world.time.advance(100)]), {
      message: 'the disk is full',
    }),
  ]);
  t.is(world.database.runs().length, 1);
  const later = replica.do(runId, cancel);
  replica.store.before = () => {};
  await world.time.advance(1_000);
  t.is((await later)?.verdict, 'already-completed');
  t.is(world.database.run(runId).status, 'completed');
  await replica.run();
  t.is(replica.running, 1);
});

test('results are kept while the database is away', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 600_000 } });
  const runIds = await Promise.all([replica.run(), replica.run(), replica.run()]);
  replica.store.isAway = true;
  for (const [index, work] of replica.works.entries()) work.succeed({ index });
  await world.time.advance(120_000);
  t.is(replica.running, 0);
  replica.store.isAway = false;
  await world.time.advance(5_000);
  t.deepEqual(
    runIds.map((runId) => world.database.run(runId).status),
    ['completed', 'completed', 'completed'],
  );
});

test('a result outlives the lease under which it was computed, when nobody has taken the step over', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.store.isAway = true;
  replica.work('n1').succeed({ kept: true });
  await world.time.advance(60_000);
  t.is(replica.observed.expired, 1);
  replica.store.isAway = false;
  await world.time.advance(6_000);
  t.deepEqual(world.step(runId, 'n1').output, { kept: true });
});

test('a retry that may be stored is not done twice', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.work('n1').fail(new Error('once'));
  await settle();
  replica.store.fail('commit', 'unheard');
  const asked = t.throwsAsync(replica.do(runId, { type: 'retry', by: 'anna' }), {
    message: /answer was lost/,
  });
  await world.time.advance(1_000);
  await asked;
  t.is(replica.work('n1').step.attempt, 2);
  t.is(replica.works.length, 2);
});

test('a cancellation of which the answer was lost is told as done', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.store.fail('commit', 'unheard');
  const asked = replica.do(runId, { type: 'cancel', by: 'anna' });
  await world.time.advance(1_000);
  t.is((await asked)?.state.status, 'cancelled');
  t.true(replica.work('n1').signal.aborted);
});

test('one result that cannot be stored does not hold up the others, and fails its step in the end', async (t) => {
  const world = new World(threeBranches);
  const replica = await world.replica({ limits: { leaseMs: 600_000 } });
  const runId = await replica.run();
  replica.store.before = (method, [commit]) => {
    if (method !== 'commit') return;
    const { after } = commit as Commit;
    if (after.steps.get('a')?.output?.text === 'poison') throw new Error('invalid byte sequence');
  };
  const letGo = replica.store.hold('commit');
  replica.work('c').succeed();
  await settle();
  replica.work('a').succeed({ text: 'poison' });
  replica.work('b').succeed();
  letGo();
  await world.time.advance(1_000);
  t.like(world.statuses(runId), { a: 'running', b: 'completed', c: 'completed' });
  await world.time.advance(120_000);
  t.is(world.step(runId, 'a').error?.code, 'result_not_stored');
  t.true(replica.log.some((line) => line.includes('could not be stored: the step has failed')));
});

test('writes of a step that fail for good fail the step', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 600_000 } });
  const runId = await replica.run();
  replica.work('n1').succeed({}, () => Promise.reject(new Error('unique violation')));
  await world.time.advance(120_000);
  t.is(world.step(runId, 'n1').error?.code, 'result_not_stored');
});

test('a result is not given up while nothing at all can be stored', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { leaseMs: 3_600_000 } });
  const runId = await replica.run();
  let isFull = true;
  replica.store.before = (method) => {
    if (isFull && method === 'commit') throw new Error('no space left on device');
  };
  replica.work('n1').succeed({ kept: true });
  await world.time.advance(600_000);
  isFull = false;
  await world.time.advance(6_000);
  t.deepEqual(world.step(runId, 'n1').output, { kept: true });
});

test('a process that was away goes on with the same runs', async (t) => {
  const world = new World(chain(20));
  const replica = await world.replica({ execute: instantly });
  let calls = 0;
  replica.store.before = () => {
    calls += 1;
    if (calls % 3 === 0) throw new Error('the connection was lost');
  };
  const asked = replica.start(newRun);
  await world.time.advance(60_000);
  await asked;
  t.is(world.database.runs()[0]!.status, 'completed');
});
