import test from 'ava';
import { eachGatewayDatabase, gatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { openStream } from './event-stream.ts';
import { chain, startRuns } from './runs-gateway.ts';

const RUNS = '/v1/workflow-runs';
const hold = { id: 'work', type: 'test/hold' };
const ask = { id: 'ask', type: 'human_task', config: { assignee: '', instructions: 'Please look' } };

test('a stream brings every event of a run once, in order, as it happens, and closes after the last', async (t) => {
  const { gates, tenantWith, url } = await startRuns(t);
  const tenant = await tenantWith(chain(hold));
  const run = await tenant.start();
  const stream = await openStream(`${url}${RUNS}/${run.id}/events`, tenant.token);
  t.is(stream.status, 200);
  t.regex(stream.type, /^text\/event-stream/);
  await until(() => gates.held.has(run.id) && stream.events.length >= 3);
  t.false(stream.events.some(({ event }) => event === 'run.completed'));
  gates.release(run.id);
  await stream.ended;
  const stored = (await tenant.get(`${RUNS}/${run.id}/events`)).body.events;
  t.deepEqual(
    stream.events.map(({ data }) => data),
    stored,
  );
  for (const { id, event, data } of stream.events) t.deepEqual([id, event], [String(data.seq), data.type]);
  t.is(stream.events.at(-1)!.event, 'run.completed');
});

test('a client that comes again gets what it has missed, and one that has all of it is sent away', async (t) => {
  const { gates, tenantWith, url } = await startRuns(t);
  const tenant = await tenantWith(chain(hold));
  const run = await tenant.start();
  const events = `${url}${RUNS}/${run.id}/events`;
  const first = await openStream(events, tenant.token);
  await until(() => first.events.length >= 2);
  first.close();
  await first.ended;
  gates.release(run.id);
  const { id: lastId } = first.events[1]!;
  const second = await openStream(`${events}?after=0`, tenant.token, { 'last-event-id': lastId! });
  await second.ended;
  t.is(second.events[0]!.id, '3');
  const last = second.events.at(-1)!;
  t.is(last.event, 'run.completed');
  for (const [after, status] of [
    [last.id!, 204],
    ['999999', 200],
  ] as const) {
    const third = await openStream(events, tenant.token, { 'last-event-id': after });
    await third.ended;
    t.deepEqual(third.events, []);
    // A browser opens a stream that has ended again and again, until it gets 204.
    t.is(third.status, status);
  }
  const byQuery = await openStream(`${events}?after=${Number(last.id) - 1}`, tenant.token);
  await byQuery.ended;
  t.is(byQuery.events.length, 1);
  const odd = await openStream(events, tenant.token, { 'last-event-id': 'x' });
  t.is(odd.status, 400);
});

test('JSON is what a client gets that asks for it first, or for nothing', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(ask));
  const run = await tenant.start({}, '?wait=10');
  for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream']) {
    const { body } = await tenant.call('GET', `${RUNS}/${run.id}/events`, undefined, { accept });
    t.is(body.events[0].type, 'run.started', accept);
  }
  t.is((await tenant.get(`${RUNS}/${run.id}/events?limit=9999`)).body.limit, 500);
  t.is((await tenant.get(`${RUNS}/${run.id}/events`)).body.limit, 100);
  for (const query of ['after=x', 'after=-1', 'limit=x']) {
    t.is((await tenant.get(`${RUNS}/${run.id}/events?${query}`)).status, 400, query);
  }
});

eachGatewayDatabase(test, 'after the last event there are none, however far after it', async (t, fresh) => {
  const { tenantWith, url } = await startRuns(t, { env: { ...fresh.environment } });
  const tenant = await tenantWith(chain());
  const run = await tenant.start({}, '?wait=10');
  const { total } = (await tenant.get(`${RUNS}/${run.id}/events`)).body;
  for (const after of [total, 2_147_483_648, 999_999_999_999_999]) {
    const page = await tenant.get(`${RUNS}/${run.id}/events?after=${after}`);
    t.is(page.status, 200, JSON.stringify(page.body));
    t.deepEqual(page.body, { events: [], total, limit: 100 });
    const stream = await openStream(`${url}${RUNS}/${run.id}/events`, tenant.token, {
      'last-event-id': String(after),
    });
    await stream.ended;
    t.deepEqual([stream.status, stream.events.length], [after === total ? 204 : 200, 0]);
  }
});

for (const { title, isDeaf } of [
  { title: 'with hints', isDeaf: false },
  { title: 'with all hints lost', isDeaf: true },
]) {
  test(`a run that another replica carries out is followed here ${title}`, async (t) => {
    const fresh = await gatewayDatabase(t, 'postgres');
    if (fresh === undefined) return;
    const options = { env: { ...fresh.environment }, isDeaf };
    const one = await startRuns(t, options);
    const two = await startRuns(t, options);
    const tenant = await one.tenantWith(chain(ask, hold));
    const run = await tenant.start({}, '?wait=10');
    t.is(run.status, 'waiting');
    const stream = await openStream(`${two.url}${RUNS}/${run.id}/events`, tenant.token);
    await until(() => stream.events.at(-1)?.event === 'run.waiting');
    const waiting = two.request(`${RUNS}/${run.id}`, { token: tenant.token });
    t.is((await waiting).body.status, 'waiting');
    const [task] = (await tenant.get('/v1/workflow-tasks')).body;
    const completed = await tenant.post(`/v1/workflow-tasks/${task.step_run_id}/complete`, {});
    t.is(completed.status, 200);
    const holder = () => [one, two].find(({ gates }) => gates.held.has(run.id));
    await until(() => holder() !== undefined);
    holder()!.gates.release(run.id);
    await stream.ended;
    t.is(stream.events.at(-1)!.event, 'run.completed');
    const seqs = stream.events.map(({ data }) => data.seq);
    t.deepEqual(
      seqs,
      seqs.map((_, index) => index + 1),
    );
  });
}
