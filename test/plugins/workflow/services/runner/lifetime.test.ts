import test from 'ava';
import { chain, fork } from '../core/graph-builder.ts';
import { instantly, settle, World } from './world.ts';

const threeBranches = fork(['a', 'b', 'c']);

test('a worker that renews its lease keeps its steps', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const other = await world.replica();
  const runId = await replica.run();
  for (let minute = 0; minute < 3; minute += 1) {
    await world.time.advance(60_000);
    await other.sweepNow();
  }
  t.is(other.works.length, 0);
  t.false(replica.work('n1').signal.aborted);
  t.is(world.database.run(runId).owner, [...world.database.workers.keys()][0]!);
});

test('the steps of a worker that is lost go to another, in a new delivery of the same attempt', async (t) => {
  const world = new World();
  const lost = await world.replica();
  const other = await world.replica();
  const runId = await lost.run();
  lost.crash();
  await other.sweepNow();
  t.is(other.works.length, 0);
  await world.time.advance(11_000);
  await other.sweepNow();
  t.like(other.work('n1').step, { attempt: 1, delivery: 2 });
  t.is(other.observed.orphan, 1);
  t.is(other.observed.redelivered, 1);
  other.work('n1').succeed();
  await settle();
  t.is(world.step(runId, 'n1').status, 'completed');
});

test('an orphan that cannot be taken over does not hinder the others', async (t) => {
  const world = new World(chain(1));
  const lost = await world.replica();
  const other = await world.replica();
  await lost.run();
  await lost.run();
  lost.crash();
  await world.time.advance(11_000);
  other.store.fail('read', ...Array.from({ length: 8 }, () => 'lost' as const));
  const sweeping = other.sweepNow();
  await world.time.advance(20_000);
  await sweeping;
  t.true(other.works.length >= 1);
  await other.sweepNow();
  t.is(other.works.length, 2);
});

test('a step that is interrupted again and again fails as lost', async (t) => {
  const world = new World(chain(1));
  const first = await world.replica();
  const runId = await first.run();
  first.crash();
  for (let lost = 2; lost <= 4; lost += 1) {
    const next = await world.replica();
    await world.time.advance(11_000);
    await next.sweepNow();
    t.is(next.work('n1').step.delivery, lost);
    next.crash();
  }
  const last = await world.replica();
  await world.time.advance(11_000);
  await last.sweepNow();
  t.is(last.works.length, 0);
  t.is(world.step(runId, 'n1').error?.code, 'worker_lost');
});

test('a worker whose lease is over by its own reckoning aborts its steps, claims nothing, and comes back under a new name', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const runId = await replica.run();
  const before = world.database.run(runId).owner;
  replica.store.isAway = true;
  await world.time.advance(9_999);
  t.false(replica.work('n1').signal.aborted);
  await world.time.advance(1);
  t.true(replica.work('n1').signal.aborted);
  t.is(replica.running, 0);
  t.false(await replica.poll({ tenantId: 'tenant', runId }));
  replica.store.isAway = false;
  await world.time.advance(5_000);
  await replica.sweepNow();
  t.not(world.database.run(runId).owner, before);
  t.is(replica.work('n1').step.delivery, 2);
});

test('a renewal that hangs does not keep a worker alive', async (t) => {
  const world = new World();
  const replica = await world.replica();
  await replica.run();
  replica.store.hold('renew');
  await world.time.advance(10_000);
  t.true(replica.work('n1').signal.aborted);
});

test('a worker that the database has given up aborts its steps at once', async (t) => {
  const world = new World();
  const replica = await world.replica();
  const runId = await replica.run();
  world.database.workers.clear();
  await world.time.advance(4_000);
  t.true(replica.work('n1').signal.aborted);
  t.is(replica.observed.expired, 1);
  replica.work('n1').succeed({ late: true });
  await replica.sweepNow();
  t.is(replica.work('n1').step.delivery, 2);
  t.is(world.step(runId, 'n1').output, null);
});

test('what was claimed under a name that is over is not begun under the next one', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica();
  const runId = await replica.run();
  const letGo = replica.store.hold('commit');
  replica.store.fail('renew', ...Array.from({ length: 20 }, () => 'lost' as const));
  replica.work('n1').succeed();
  await world.time.advance(10_500);
  t.is(replica.observed.expired, 1);
  letGo();
  await settle();
  t.is(world.step(runId, 'n2').status, 'running');
  t.is(replica.works.length, 1);
  await replica.sweepNow();
  t.is(replica.work('n2').step.delivery, 2);
});

test('a run that this worker owns without knowing is begun after a sweep', async (t) => {
  const world = new World(chain(1));
  const other = await world.replica();
  const replica = await world.replica();
  const runId = await other.run();
  // As by a commit that was stored long after its connection was lost.
  const [, worker] = [...world.database.workers.keys()];
  Object.assign(world.database.run(runId), { owner: worker });
  await replica.sweepNow();
  t.is(replica.work('n1').step.delivery, 1);
  t.is(replica.observed.drifted, 1);
});

test('the result of a worker that was given up is too late once another has the step', async (t) => {
  const world = new World(chain(1));
  const slow = await world.replica();
  const other = await world.replica();
  const runId = await slow.run();
  slow.work('n1').succeed({ from: 'slow' });
  const letGo = slow.store.hold('commit');
  slow.store.hold('renew');
  await settle();
  world.skew += 11_000;
  await other.sweepNow();
  t.is(other.work('n1').step.delivery, 2);
  letGo();
  await settle();
  other.work('n1').succeed({ from: 'other' });
  await settle();
  t.is(world.database.commits.filter((commit) => commit.runId === runId).length >= 2, true);
  t.true(['slow', 'other'].includes(String(world.step(runId, 'n1').output?.from)));
});

test('a worker that stops lets its steps end in the time that it has', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica({ hints: false });
  const runId = await replica.run();
  const closing = replica.close(new AbortController().signal);
  await settle();
  replica.work('n1').succeed();
  await closing;
  t.like(world.statuses(runId), { n1: 'completed', n2: 'pending' });
  t.is(world.database.run(runId).owner, null);
  t.is(world.database.workers.size, 0);
  t.deepEqual(replica.hints, [`look ${runId}`]);
});

test('what does not end in that time is aborted and handed over at once, in one commit a run', async (t) => {
  const world = new World(threeBranches);
  const replica = await world.replica();
  const runId = await replica.run();
  const other = await world.replica();
  const drained = new AbortController();
  const closing = replica.close(drained.signal);
  await settle();
  t.false(replica.work('a').signal.aborted);
  drained.abort();
  await closing;
  t.true(replica.work('a').signal.aborted);
  t.is(replica.store.count('commit'), 1);
  await world.time.advance(0);
  // No lease had to run out for it.
  t.deepEqual(
    other.works.map(({ step }) => [step.nodeId, step.attempt, step.delivery]),
    [
      ['a', 1, 2],
      ['b', 1, 2],
      ['c', 1, 2],
    ],
  );
  t.is(world.database.run(runId).status, 'running');
});

test('a delivery that was given back does not count as lost', async (t) => {
  const world = new World(chain(1));
  let replica = await world.replica({ hints: false });
  const runId = await replica.run();
  for (let time = 0; time < 6; time += 1) {
    await replica.close(AbortSignal.abort());
    replica = await world.replica({ hints: false });
    await replica.poll({ tenantId: 'tenant', runId });
  }
  t.like(replica.work('n1').step, { attempt: 1, delivery: 7, lost: 0 });
});

test('what was claimed while the end began is given back and not begun', async (t) => {
  const world = new World(chain(2));
  const replica = await world.replica({ hints: false });
  const runId = await replica.run();
  const letGo = replica.store.hold('commit');
  replica.work('n1').succeed();
  await settle();
  const closing = replica.close(new AbortController().signal);
  letGo();
  await closing;
  t.is(replica.works.length, 1);
  t.like(world.step(runId, 'n2'), { status: 'pending', delivery: 1, lost: 0 });
  t.is(world.database.run(runId).owner, null);
});

test('a worker that stops while the database is away ends within seconds', async (t) => {
  const world = new World();
  const replica = await world.replica();
  await replica.run();
  replica.store.isAway = true;
  let isClosed = false;
  void replica.close(AbortSignal.abort()).then(() => {
    isClosed = true;
  });
  await world.time.advance(1_900);
  t.false(isClosed);
  await world.time.advance(600);
  await settle();
  t.true(isClosed);
  t.is(replica.running, 0);
});

test('runs are started and changed while a worker stops, and nothing is begun any more', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ hints: false });
  await replica.run();
  const closing = replica.close(new AbortController().signal);
  const runId = await replica.run();
  t.is(world.step(runId, 'n1').status, 'pending');
  t.false(await replica.poll({ tenantId: 'tenant', runId }));
  t.is((await replica.do(runId, { type: 'cancel', by: 'anna' }))?.verdict, 'applied');
  replica.work('n1').succeed();
  await closing;
  await t.throwsAsync(replica.do(runId, { type: 'cancel', by: 'anna' }), { code: 'gateway.draining' });
  await t.throwsAsync(replica.run(), { code: 'gateway.draining' });
});

test('runs are started and changed after a worker has handed over its steps, until it ends', async (t) => {
  const world = new World(chain(1));
  const replica = await world.replica({ hints: false });
  const before = await replica.run();
  const handedOver = replica.handOver(new AbortController().signal);
  replica.work('n1').succeed();
  await handedOver;
  t.is(world.database.run(before).status, 'completed');
  const runId = await replica.run();
  t.is(world.step(runId, 'n1').status, 'pending');
  t.false(await replica.poll({ tenantId: 'tenant', runId }));
  t.is(world.database.run(runId).owner, null);
  t.is((await replica.do(runId, { type: 'cancel', by: 'anna' }))?.verdict, 'applied');
  await replica.close(new AbortController().signal);
  await t.throwsAsync(replica.run(), { code: 'gateway.draining' });
});

test('nothing is left of a worker that has stopped: no timer, no name, no step', async (t) => {
  const world = new World(chain(5));
  const replica = await world.replica({ execute: instantly });
  for (let run = 0; run < 10; run += 1) await replica.run();
  await replica.close(AbortSignal.abort());
  await replica.close(AbortSignal.abort());
  await world.time.advance(0);
  t.is(world.time.waiting, 0);
  t.is(world.database.workers.size, 0);
  t.true(world.database.runs().every(({ owner }) => owner === null));
});

for (const { when, ended } of [
  { when: 'while a step is carried out', ended: false },
  { when: 'while the result of a step waits to be stored', ended: true },
]) {
  test(`a run that is erased ${when} is let go`, async (t) => {
    const world = new World();
    const replica = await world.replica();
    const runId = await replica.run();
    const work = replica.work('n1');
    if (ended) {
      replica.store.fail('commit', 'lost');
      work.succeed();
      await settle();
    }
    world.database.erase(runId);
    replica.changed({ tenantId: 'tenant', runId });
    await world.time.advance(5_000);
    t.is(work.signal.aborted, !ended);
    await replica.sweepNow();
    t.is(replica.observed.drifted, 0);
    let isClosed = false;
    void replica.close(new AbortController().signal).then(() => {
      isClosed = true;
    });
    await settle();
    t.true(isClosed, 'nothing is waited for');
  });
}
