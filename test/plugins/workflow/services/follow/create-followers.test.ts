import test from 'ava';
import pino from 'pino';
import type { RunEventRecord } from '../../../../../plugins/workflow/contract/runs.ts';
import {
  createFollowers,
  type Followers,
} from '../../../../../plugins/workflow/services/follow/create-followers.ts';
import { replicaMessages } from '../../../../../plugins/workflow/services/replica-messages.ts';
import { until } from '../../../../support/until.ts';
import { type ManualTimers, manualTimers } from './manual-timers.ts';
import { PLACE, type RunTable, runTable } from './run-table.ts';

const messages = replicaMessages('workflow');
const HINT = { tenant_id: PLACE.tenantId, run_id: PLACE.runId };
const NEVER = new AbortController().signal;

interface Bench {
  readonly table: RunTable;
  readonly timers: ManualTimers;
  readonly followers: Followers;
  readonly emitted: { readonly id: string; readonly payload: unknown }[];
}

function bench(table: RunTable, reach: 'process' | 'redis' = 'redis', isRunningHere = false): Bench {
  const timers = manualTimers();
  const emitted: { id: string; payload: unknown }[] = [];
  const followers = createFollowers({
    queries: table,
    isRunningHere: () => isRunningHere,
    messages,
    timers,
    log: pino({ level: 'silent' }),
    events: { reach, emit: ({ id }, payload) => emitted.push({ id, payload }) },
    redactor: { redact: (text) => text, redactJsonText: (text) => text },
  });
  return { table, timers, followers, emitted };
}

/** Reads a follower into a list until it ends. */
function collect(events: AsyncIterable<RunEventRecord>) {
  const seen: number[] = [];
  let isOver = false;
  const done = (async () => {
    for await (const { seq } of events) seen.push(seq);
    isOver = true;
  })();
  return { seen, done, isOver: () => isOver };
}

test('a finished run is read from the table, page by page, and the follower ends', async (t) => {
  const { table, followers, timers } = bench(runTable(250));
  table.write('completed', 'run.completed');
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await done;
  t.deepEqual(
    seen,
    Array.from({ length: 251 }, (_, index) => index + 1),
  );
  t.is(timers.waiting, 0);
});

test('a follower that resumes at the end of a finished run, or beyond it, ends', async (t) => {
  for (const after of [3, 99]) {
    const { table, followers } = bench(runTable(2));
    table.write('cancelled', 'run.cancelled');
    const { seen, done } = collect(followers.follow(PLACE, after, NEVER));
    await done;
    t.deepEqual(seen, []);
  }
});

test('a run that is not there is an error', async (t) => {
  const { followers } = bench(runTable());
  await t.throwsAsync(collect(followers.follow(PLACE, 0, NEVER)).done, { message: /no workflow run "run"/ });
});

test('events that this process commits go straight to those who wait, without a question to the table', async (t) => {
  const { table, followers } = bench(runTable(1));
  const first = collect(followers.follow(PLACE, 0, NEVER));
  const second = collect(followers.follow(PLACE, 1, NEVER));
  await until(() => first.seen.length === 1 && table.asked.positions > 0);
  const { pages } = table.asked;
  followers.committed(...table.write('running', 'step.started', 'step.completed'));
  await until(() => first.seen.length === 3 && second.seen.length === 2);
  t.is(table.asked.pages, pages);
  followers.committed(...table.write('completed', 'run.completed'));
  await Promise.all([first.done, second.done]);
  t.deepEqual(first.seen, [1, 2, 3, 4]);
  t.is(table.asked.pages, pages);
});

test('a slow follower gets every event once, from the table, however much is committed meanwhile', async (t) => {
  const { table, followers } = bench(runTable(1));
  const events = followers.follow(PLACE, 0, NEVER)[Symbol.asyncIterator]();
  t.is((await events.next()).value.seq, 1);
  for (let round = 0; round < 300; round += 1) followers.committed(...table.write('running', 'warning'));
  followers.committed(...table.write('completed', 'run.completed'));
  const seen: number[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) seen.push(next.value.seq);
  t.deepEqual(
    seen,
    Array.from({ length: 301 }, (_, index) => index + 2),
  );
});

test('a commit that comes between reading and waiting is not missed', async (t) => {
  const { table, followers } = bench(runTable(1));
  const read = table.events;
  table.events = async (place) => {
    const page = await read(place);
    table.events = read;
    followers.committed(...table.write('completed', 'run.completed'));
    return page;
  };
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await done;
  t.deepEqual(seen, [1, 2]);
});

test('with dead events a follower finds by itself what another replica committed: within a second while the run is running, within five while it waits', async (t) => {
  const { table, timers, followers } = bench(runTable(1));
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await until(() => seen.length === 1);
  table.write('waiting', 'run.waiting');
  timers.advance(999);
  t.is(seen.length, 1);
  timers.advance(1);
  await until(() => seen.length === 2);
  await until(() => timers.waiting >= 2);
  const { positions } = table.asked;
  table.write('running', 'run.resumed');
  timers.advance(4_999);
  t.is(table.asked.positions, positions);
  timers.advance(1);
  await until(() => seen.length === 3);
  await until(() => timers.waiting >= 2);
  table.write('completed', 'run.completed');
  timers.advance(1_000);
  await done;
  t.deepEqual(seen, [1, 2, 3, 4]);
});

test('a hint of another replica brings its events at once', async (t) => {
  const { table, timers, followers } = bench(runTable(1));
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await until(() => seen.length === 1);
  table.write('completed', 'run.completed');
  followers.onChanged({ ...HINT, seq: 2 });
  await done;
  t.deepEqual(seen, [1, 2]);
  t.is(timers.monotonic(), 0);
});

test('a hint that promises too much makes a follower ask once, not again and again', async (t) => {
  const { table, timers, followers } = bench(runTable(1));
  const abort = new AbortController();
  const { seen, done } = collect(followers.follow(PLACE, 0, abort.signal));
  await until(() => seen.length === 1);
  followers.onChanged({ ...HINT, seq: 1_000_000 });
  await until(() => table.asked.positions === 1);
  await new Promise(setImmediate);
  t.is(table.asked.pages, 2);
  t.is(table.asked.positions, 1);
  table.write('completed', 'run.completed');
  await until(() => timers.waiting >= 2);
  timers.advance(1_000);
  await done;
  t.deepEqual(seen, [1, 2]);
});

test('a table that is away for a moment costs a follower who waits nothing but time', async (t) => {
  const { table, timers, followers } = bench(runTable(1));
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await until(() => seen.length === 1);
  table.failure = new Error('away');
  timers.advance(1_000);
  await until(() => table.asked.positions === 1);
  await until(() => timers.waiting >= 2);
  table.failure = undefined;
  table.write('completed', 'run.completed');
  timers.advance(1_000);
  await done;
  t.deepEqual(seen, [1, 2]);
});

test('an aborted follower ends and leaves nothing behind', async (t) => {
  const { timers, followers } = bench(runTable(1));
  const abort = new AbortController();
  const { seen, done } = collect(followers.follow(PLACE, 0, abort.signal));
  await until(() => seen.length === 1);
  abort.abort();
  await done;
  t.is(timers.waiting, 0);
});

test('a run that is deleted while it is followed ends its followers', async (t) => {
  const { table, timers, followers } = bench(runTable(1));
  const { seen, done } = collect(followers.follow(PLACE, 0, NEVER));
  await until(() => seen.length === 1);
  table.position = async () => undefined;
  timers.advance(1_000);
  await done;
  t.deepEqual(seen, [1]);
});

test('closing ends those who follow, and those who come too late', async (t) => {
  const { followers, timers } = bench(runTable(1));
  const early = collect(followers.follow(PLACE, 0, NEVER));
  await until(() => early.seen.length === 1);
  followers.close();
  await early.done;
  const late = collect(followers.follow(PLACE, 0, NEVER));
  await late.done;
  t.deepEqual(late.seen, [1]);
  t.is(timers.waiting, 0);
});

test('other replicas are told every ten seconds that a run is followed, as long as it is', async (t) => {
  const { emitted, timers, followers } = bench(runTable(1));
  const abort = new AbortController();
  const one = collect(followers.follow(PLACE, 0, abort.signal));
  const two = collect(followers.follow(PLACE, 0, abort.signal));
  await until(() => one.seen.length + two.seen.length === 2);
  timers.advance(20);
  t.deepEqual(emitted, [{ id: 'workflow.follow', payload: HINT }]);
  timers.advance(20_000);
  t.is(emitted.length, 3);
  abort.abort();
  await Promise.all([one.done, two.done]);
  timers.advance(60_000);
  t.is(emitted.length, 3);
});

test('one replica alone tells nobody', async (t) => {
  const { emitted, timers, followers } = bench(runTable(1), 'process');
  const abort = new AbortController();
  const { seen, done } = collect(followers.follow(PLACE, 0, abort.signal));
  await until(() => seen.length === 1);
  timers.advance(30_000);
  t.deepEqual(emitted, []);
  abort.abort();
  await done;
});

test('only commits of runs that are followed elsewhere are told, at most once in 50 ms, and no longer than half a minute after the last word', (t) => {
  const { emitted, timers, followers, table } = bench(runTable(1));
  const commit = () => followers.committed(...table.write('running', 'warning'));
  commit();
  followers.onFollow(HINT, { origin: 'local' });
  commit();
  t.deepEqual(emitted, []);

  followers.onFollow(HINT, { origin: 'remote' });
  for (let round = 0; round < 10; round += 1) commit();
  t.deepEqual(
    emitted.map(({ payload }) => payload),
    [{ ...HINT, seq: 4 }],
  );
  timers.advance(50);
  t.deepEqual(emitted.at(-1), { id: 'workflow.changed', payload: { ...HINT, seq: 13 } });
  t.is(emitted.length, 2);

  // Announced again while a message waits: it is told all the same, and what follows too.
  commit();
  followers.onFollow(HINT, { origin: 'remote' });
  timers.advance(50);
  t.is(emitted.length, 3);
  timers.advance(100);
  commit();
  t.is(emitted.length, 4);

  timers.advance(30_000);
  commit();
  t.is(emitted.length, 4);
});

test('who waits for a run to settle is told by the commit, by a hint, by the poll, or when his time is over', async (t) => {
  const local = bench(runTable(1));
  const byCommit = local.followers.settled(PLACE, 30_000, NEVER);
  local.followers.committed(...local.table.write('paused', 'run.paused'));
  t.is((await byCommit)?.status, 'paused');

  const remote = bench(runTable(1));
  const byHint = remote.followers.settled(PLACE, 30_000, NEVER);
  await until(() => remote.table.asked.positions === 1);
  remote.table.write('waiting', 'run.waiting');
  remote.followers.onChanged({ ...HINT, seq: 2 });
  t.is(await byHint, undefined);

  const dead = bench(runTable(1));
  const byPoll = dead.followers.settled(PLACE, 30_000, NEVER);
  await until(() => dead.timers.waiting === 3);
  dead.table.write('completed', 'run.completed');
  dead.timers.advance(1_000);
  t.is(await byPoll, undefined);
  t.is(dead.timers.waiting, 0);

  const slow = bench(runTable(1));
  const byTime = slow.followers.settled(PLACE, 2_000, NEVER);
  slow.timers.advance(2_000);
  t.is(await byTime, undefined);
});

test('who waits for a run that has settled already does not wait', async (t) => {
  const { followers } = bench(runTable(3, 'waiting'));
  t.is(await followers.settled(PLACE, 30_000, NEVER), undefined);
});

test('who waits for a run that is carried out here hears of its commits, and the table is asked only after a while', async (t) => {
  const { table, followers, timers } = bench(runTable(1), 'redis', true);
  const byCommit = followers.settled(PLACE, 30_000, NEVER);
  followers.committed(...table.write('running', 'step.completed'));
  followers.committed(...table.write('completed', 'run.completed'));
  t.is((await byCommit)?.status, 'completed');
  t.is(table.asked.positions, 0);

  // Somebody else ended it, and no word of that has come.
  const unheard = bench(runTable(1), 'redis', true);
  const byPoll = unheard.followers.settled(PLACE, 30_000, NEVER);
  unheard.table.write('cancelled', 'run.cancelled');
  unheard.timers.advance(1_000);
  t.is(await byPoll, undefined);
  t.is(timers.waiting + unheard.timers.waiting, 0);
});
