import test from 'ava';
import { StepFailure } from '../../../../../plugins/workflow/contract.ts';
import { auto, buildGraph, chain, end, fork, human, start } from '../core/graph-builder.ts';
import { instantly, newRun, settle, World } from './world.ts';

const taskOfAMinute = buildGraph({ start, task: human({ timeoutMs: 60_000 }), end }, [
  ['start', 'task'],
  ['task', 'end'],
]);

test('a run goes through all of its steps with one commit a step', async (t) => {
  const world = new World(chain(3));
  const replica = await world.replica({ execute: instantly });
  const runId = await replica.run();
  await settle();
  t.is(world.database.run(runId).status, 'completed');
  t.deepEqual(
    world.database.commits.map(({ revision }) => revision),
    [2, 3, 4],
  );
  t.is(replica.store.count('read'), 0);
  t.is(replica.running, 0);
  t.is(world.database.run(runId).owner, null);
});

test('a run that was started is claimed in the commit that stores it', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const started = await replica.start(newRun);
  t.true('state' in started && started.state.steps.get('n1')?.status === 'running');
  t.is(replica.work('n1').step.delivery, 1);
  t.is(replica.store.count('commit'), 0);
});

test('what happened while a commit was under way goes into the next one together', async (t) => {
  const graph = fork(['a', 'b', 'c']);
  const world = new World(graph);
  const replica = await world.replica();
  const runId = await replica.run();
  const letGo = replica.store.hold('commit');
  for (const node of ['a', 'b', 'c']) {
    replica.work(node).succeed();
    await settle();
  }
  letGo();
  await settle();
  t.is(world.database.run(runId).status, 'completed');
  t.is(replica.store.count('commit'), 2);
});

test('everything that was committed is told, in order', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica({ execute: instantly });
  const runId = await replica.run();
  await settle();
  const told = replica.committed.flatMap(({ events }) => events.map(({ seq }) => seq));
  t.deepEqual(
    told,
    world.database.events(runId).map(({ seq }) => seq),
  );
  t.deepEqual(
    told,
    [...told.keys()].map((index) => index + 1),
  );
});

test('a run is running here while its steps are in hand and none has failed', async (t) => {
  const world = new World(fork(['n1', 'n2']));
  const replica = await world.replica();
  const other = await world.replica();
  const place = { tenantId: 'tenant', runId: await replica.run() };
  t.true(replica.isRunningHere(place));
  t.false(other.isRunningHere(place));
  replica.work('n1').fail(new Error('no'));
  await settle();
  t.is(world.database.run(place.runId).status, 'paused');
  t.false(replica.isRunningHere(place), 'whoever waits for it to settle has waited enough');
  replica.work('n2').succeed();
  await settle();
  t.false(replica.isRunningHere(place));
});

test('an idempotency key that is known gives the run that is there, and nothing is stored or begun', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const idempotency = { key: 'k', fingerprint: 'f' };
  const first = await replica.run('tenant', { idempotency });
  const second = await replica.start({ ...newRun, idempotency });
  t.deepEqual(second, { existing: { runId: first, fingerprint: 'f' } });
  t.is(world.database.runs().length, 1);
  t.is(replica.running, 1);
});

test('nothing is known of a run that is not there', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const place = { tenantId: 'tenant', runId: 'nowhere' };
  t.is(await replica.apply(place, { type: 'cancel', by: 'anna' }), undefined);
  t.true(await replica.poll(place));
});

test('a run of another tenant is not there', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const runId = await replica.run();
  t.is(await replica.apply({ tenantId: 'other', runId }, { type: 'cancel', by: 'anna' }), undefined);
  t.is(world.database.run(runId).status, 'running');
});

test('cancelling a run aborts the calls of its steps', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const runId = await replica.run();
  const { signal } = replica.work('n1');
  const answer = await replica.do(runId, { type: 'cancel', by: 'anna' });
  t.is(answer?.verdict, 'applied');
  t.true(signal.aborted);
  t.is(replica.running, 0);
  replica.work('n1').succeed({ late: true });
  await settle();
  t.is(world.step(runId, 'n1').status, 'cancelled');
  t.is(replica.observed.abandoned, 0);
});

test('cancelling on another replica aborts the call where it is', async (t) => {
  const world = new World();
  const owner = await world.replica();
  const other = await world.replica();
  const runId = await owner.run();
  await other.do(runId, { type: 'cancel', by: 'anna' });
  await settle();
  t.deepEqual(other.hints, [`changed ${runId}`]);
  t.true(owner.work('n1').signal.aborted);
});

test('a cancellation of which the owner was not told is found by its sweep', async (t) => {
  const world = new World();
  const owner = await world.replica();
  const other = await world.replica({ hints: false });
  const runId = await owner.run();
  await other.do(runId, { type: 'cancel', by: 'anna' });
  await settle();
  t.false(owner.work('n1').signal.aborted);
  await owner.sweepNow();
  t.true(owner.work('n1').signal.aborted);
  t.is(owner.observed.drifted, 1);
});

test('a step that does not end in its time fails and is aborted, even when the call never ends', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ limits: { stepTimeoutMs: 1_000 } });
  const runId = await replica.run();
  const work = replica.work('n1');
  await world.time.advance(999);
  t.false(work.signal.aborted);
  await world.time.advance(1);
  t.true(work.signal.aborted);
  t.is(world.step(runId, 'n1').error?.code, 'step_timeout');
  t.is(world.database.run(runId).status, 'paused');
  t.is(replica.observed.abandoned, 1);
  t.is(replica.running, 0);
  work.succeed();
  await settle();
  t.is(replica.observed.abandoned, 0);
  t.is(world.step(runId, 'n1').status, 'failed');
});

test('a step that timed out is tried again where the node says so', async (t) => {
  const retry = { maxAttempts: 2, delayMs: 0, backoff: 'fixed', maxDelayMs: 0 } as const;
  const world = new World(chain(1, auto({ retry })));
  const replica = await world.replica({ limits: { stepTimeoutMs: 1_000 } });
  await replica.run();
  await world.time.advance(1_000);
  t.is(replica.work('n1').step.attempt, 2);
});

test('a failure of a step keeps its code and its record; any other error is told as internal', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.work('n1').fail(new StepFailure('service_status', 'It said 500.', { record: { status: 500 } }));
  await settle();
  t.like(world.step(runId, 'n1').error, { code: 'service_status', message: 'It said 500.' });
  t.like(world.database.events(runId).findLast(({ type }) => type === 'step.failed')?.data, {
    record: { status: 500 },
  });

  await replica.do(runId, { type: 'retry', by: 'anna' });
  replica.work('n1').fail(new Error('password=hunter2'));
  await settle();
  t.is(world.step(runId, 'n1').error?.code, 'internal');
  t.notRegex(JSON.stringify(world.database.events(runId)), /hunter2/);
  t.true(replica.log.some((line) => line.includes(runId) && line.includes('defect')));
});

test('a failed step is tried again after its pause, by whoever is there', async (t) => {
  const retry = { maxAttempts: 2, delayMs: 60_000, backoff: 'fixed', maxDelayMs: 60_000 } as const;
  const world = new World(chain(1, auto({ retry })));
  const replica = await world.replica();
  const runId = await replica.run();
  replica.work('n1').fail(new StepFailure('broken', 'It broke.'));
  await settle();
  t.true(replica.hints.includes(`look ${runId} in 60000`));
  await world.time.advance(59_000);
  t.is(replica.works.length, 1);
  await world.time.advance(1_000);
  t.is(replica.work('n1').step.attempt, 2);
});

test('the owner of a run begins the next attempt of one step while others are under way', async (t) => {
  const retry = { maxAttempts: 2, delayMs: 60_000, backoff: 'fixed', maxDelayMs: 60_000 } as const;
  const graph = buildGraph({ start, a: auto({ retry }), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const world = new World(graph);
  const owner = await world.replica({ hints: false });
  await owner.run();
  owner.work('a').fail(new StepFailure('broken', 'It broke.'));
  await world.time.advance(60_000);
  t.is(owner.work('a').step.attempt, 2);
});

test('of many tasks that time out together one sweep finds all', async (t) => {
  const world = new World(taskOfAMinute);
  const replica = await world.replica({ hints: false });
  const runs: string[] = [];
  for (let count = 0; count < 500; count += 1) runs.push(await replica.run());
  await world.time.advance(60_000);
  await replica.sweepNow();
  await settle();
  t.is(runs.filter((runId) => world.step(runId, 'task').status !== 'failed').length, 0);
});

test('a timer that ends after more than twelve sweeps has no message of its own', async (t) => {
  const tasks = (timeoutMs: number) =>
    buildGraph({ start, task: human({ timeoutMs }), end }, [
      ['start', 'task'],
      ['task', 'end'],
    ]);
  for (const [ms, hints] of [
    [60_000, 1],
    [60_001, 0],
  ] as const) {
    const replica = await new World(tasks(ms)).replica();
    await replica.run();
    t.is(replica.hints.length, hints);
  }
});

test('a human task is completed on a replica that does not own the run, and its owner goes on', async (t) => {
  const graph = buildGraph({ start, a: auto(), task: human(), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'task'],
    ['task', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const world = new World(graph);
  const owner = await world.replica();
  const other = await world.replica();
  const runId = await owner.run();
  const stepId = world.step(runId, 'task').id;
  const completion = {
    type: 'task_completed',
    stepId,
    by: 'bob',
    payload: { output: { ok: true } },
  } as const;
  t.is((await other.do(runId, completion))?.verdict, 'applied');
  t.is(world.step(runId, 'b').status, 'pending');
  await settle();
  t.is(owner.work('b').step.status, 'running');
  t.is(other.works.length, 0);
  // What the owner knew of the run was older: it does not refuse on the strength of it.
  t.is((await owner.do(runId, completion))?.verdict, 'unchanged');
});

test('a task that another replica has opened can be completed where the run is owned', async (t) => {
  const graph = buildGraph({ start, a: auto(), first: human(), second: human(), end }, [
    ['start', 'a'],
    ['start', 'first'],
    ['first', 'second'],
    ['a', 'end'],
    ['second', 'end'],
  ]);
  const world = new World(graph);
  const owner = await world.replica({ hints: false });
  const other = await world.replica({ hints: false });
  const runId = await owner.run();
  const complete = (nodeId: string) =>
    ({ type: 'task_completed', stepId: world.step(runId, nodeId).id, by: 'bob', payload: {} }) as const;
  await other.do(runId, complete('first'));
  t.is((await owner.do(runId, complete('second')))?.verdict, 'applied');
});

test('a task times out when its time is over, and the run goes on', async (t) => {
  const graph = buildGraph({ start, task: human({ timeoutMs: 60_000 }), late: auto(), end }, [
    ['start', 'task'],
    ['task', 'late', 'timeout'],
    ['task', 'end'],
    ['late', 'end'],
  ]);
  const world = new World(graph);
  const replica = await world.replica();
  const runId = await replica.run();
  t.deepEqual(replica.hints, [`look ${runId} in 60000`]);
  await world.time.advance(60_000);
  t.is(replica.work('late').run.id, runId);
});

test('a timer of which nobody was told is found by a sweep', async (t) => {
  const world = new World(taskOfAMinute);
  const replica = await world.replica({ hints: false });
  const runId = await replica.run();
  await world.time.advance(60_000);
  t.is(world.database.run(runId).status, 'waiting');
  await replica.sweepNow();
  t.is(world.database.run(runId).status, 'paused');
  t.is(world.step(runId, 'task').error?.code, 'human_task_timeout');
});

test('the clock of the database decides, however the one here is set', async (t) => {
  const world = new World();
  world.skew = 86_400_000;
  const replica = await world.replica();
  const runId = await replica.run();
  t.is(world.database.run(runId).startedAt, Date.UTC(2026, 0, 2));
});

test('a process has nothing in memory for runs that rest', async (t) => {
  const world = new World(
    buildGraph({ start, task: human(), end }, [
      ['start', 'task'],
      ['task', 'end'],
    ]),
  );
  const replica = await world.replica();
  const idle = world.time.waiting;
  for (let index = 0; index < 100; index += 1) await replica.run();
  await settle();
  t.is(world.time.waiting, idle);
  t.is(replica.running, 0);
});
