import test from 'ava';
import type { RunState } from '../../../../../plugins/workflow/services/core/run-state.ts';
import { CachedState } from '../../../../../plugins/workflow/services/runner/cached-state.ts';
import { chain } from '../core/graph-builder.ts';

const graph = chain(1);
const stateOf = (revision: number) => ({ tenantId: 'tenant', versionId: 'version', revision }) as RunState;

/** A copy, and its database, which answers when the test says so. */
function setUp() {
  const reads: PromiseWithResolvers<RunState | undefined>[] = [];
  const read = () => {
    const answer = Promise.withResolvers<RunState | undefined>();
    reads.push(answer);
    return answer.promise;
  };
  let graphsAsked = 0;
  const get = async () => {
    graphsAsked += 1;
    return graph;
  };
  const copy = new CachedState({ store: { read }, graphs: { get } }, { tenantId: 'tenant', runId: 'run' });
  const readNow = (revision: number) => {
    const reading = copy.read();
    reads.at(-1)!.resolve(stateOf(revision));
    return reading;
  };
  return { copy, reads, readNow, graphsAsked: () => graphsAsked };
}

test('nothing is decided by a run that was never read', async (t) => {
  const { copy, readNow } = setUp();
  t.is(copy.current, undefined);
  t.is(copy.revision, undefined);
  t.throws(() => copy.graph);
  await readNow(3);
  t.is(copy.current?.revision, 3);
  t.is(copy.graph, graph);
});

test('nothing is decided by a stale copy until it was read again', async (t) => {
  const { copy, readNow } = setUp();
  copy.created(graph, stateOf(1));
  t.is(copy.current?.revision, 1);
  copy.invalidate();
  t.is(copy.current, undefined);
  t.is(copy.revision, 1);
  await readNow(2);
  t.is(copy.current?.revision, 2);
});

test('what is changed while it is read makes the answer stale', async (t) => {
  const { copy, reads } = setUp();
  const reading = copy.read();
  copy.invalidate();
  reads[0]!.resolve(stateOf(2));
  await reading;
  t.true(copy.isStale);
  t.is(copy.current, undefined);
  t.is(copy.revision, 2);
});

test('a read that fails leaves it stale, with the state that was known', async (t) => {
  const { copy, reads, readNow } = setUp();
  await readNow(2);
  const { moment } = copy;
  const reading = copy.read();
  reads[1]!.reject(new Error('away'));
  await t.throwsAsync(reading, { message: 'away' });
  t.true(copy.isStale);
  t.is(copy.revision, 2);
  t.false(copy.isNewerThan(moment));
});

test('a run that is gone is known no more', async (t) => {
  const { copy, reads, readNow } = setUp();
  await readNow(2);
  const reading = copy.read();
  reads[1]!.resolve(undefined);
  t.is(await reading, undefined);
  t.is(copy.current, undefined);
  t.is(copy.revision, undefined);
  t.false(copy.isStale);
});

test('the graph is asked for once', async (t) => {
  const { readNow, graphsAsked } = setUp();
  await readNow(1);
  await readNow(2);
  t.is(graphsAsked(), 1);
});

test('it is newer than a moment when the read began after it', async (t) => {
  const { copy, reads, readNow } = setUp();
  const before = copy.moment;
  const reading = copy.read();
  const during = copy.moment;
  reads[0]!.resolve(stateOf(1));
  await reading;
  t.true(copy.isNewerThan(before));
  t.false(copy.isNewerThan(during));
  await readNow(1);
  t.true(copy.isNewerThan(during));
});

test('it is newer than a moment when the transition that was stored began after it', (t) => {
  const { copy } = setUp();
  copy.created(graph, stateOf(1));
  const before = copy.moment;
  const began = copy.begin();
  const during = copy.moment;
  t.false(copy.isNewerThan(before));
  copy.committed(stateOf(2), began);
  t.is(copy.current?.revision, 2);
  t.true(copy.isNewerThan(before));
  t.false(copy.isNewerThan(during));
});

test('a transition that was not stored makes it no newer', (t) => {
  const { copy } = setUp();
  copy.created(graph, stateOf(1));
  const { moment } = copy;
  copy.begin();
  t.false(copy.isNewerThan(moment));
});
