import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { chain, startRuns } from './runs-gateway.ts';

const RUNS = '/v1/workflow-runs';
const echo = { id: 'work', type: 'test/echo', config: { text: '{{input.text}}' } };
const hold = { id: 'work', type: 'test/hold' };
const flaky = { id: 'work', type: 'test/flaky' };

eachGatewayDatabase(
  test,
  'a run goes from its start to its end by itself, and tells what it did',
  async (t, fresh) => {
    const gateway = await startRuns(t, { env: { ...fresh.environment } });
    const tenant = await gateway.tenantWith(chain(echo));
    const started = await tenant.post(`${RUNS}?wait=10`, {
      definition_id: tenant.definitionId,
      input: { text: 'héllo \u0000 "x"' },
    });
    t.is(started.status, 201, JSON.stringify(started.body));
    const run = started.body;
    t.is(run.status, 'completed');
    t.like(run, {
      definition_id: tenant.definitionId,
      version: 1,
      error: null,
      variables: {},
      input: { text: 'héllo \u0000 "x"' },
    });
    for (const moment of [run.started_at, run.completed_at, run.updated_at]) {
      t.regex(moment, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    }

    const detail = (await tenant.get(`${RUNS}/${run.id}`)).body;
    t.deepEqual(
      detail.steps.map((step: Record<string, unknown>) => [step.node_id, step.status, step.attempt]),
      [
        ['start', 'completed', 1],
        ['work', 'completed', 1],
        ['end', 'completed', 1],
      ],
    );
    const { steps, ...rest } = detail;
    t.deepEqual(rest, run);
    t.deepEqual(steps[1].output, { text: 'héllo \u0000 "x"' });

    const place = { tenantId: tenant.id, runId: run.id };
    t.deepEqual(await gateway.engine.result(place), { text: 'héllo \u0000 "x"' });

    const step = (await tenant.get(`${RUNS}/${run.id}/steps/${steps[1].id}`)).body;
    t.is(step.attempts.length, 1);
    t.like(step.attempts[0], { attempt: 1, delivery: 1, status: 'completed', error: null });
    t.true(step.attempts[0].record.seen);

    const events = (await tenant.get(`${RUNS}/${run.id}/events`)).body;
    t.is(events.total, events.events.length);
    t.deepEqual(
      events.events.map(({ seq }: { seq: number }) => seq),
      Array.from({ length: events.total }, (_, index) => index + 1),
    );
    t.is(events.events[0].type, 'run.started');
    t.is(events.events.at(-1).type, 'run.completed');
    const page = (await tenant.get(`${RUNS}/${run.id}/events?after=1&limit=2`)).body;
    t.deepEqual(page, { events: events.events.slice(1, 3), total: events.total, limit: 2 });
  },
);

eachGatewayDatabase(test, 'an attempt that is delayed waits for no sweep', async (t, fresh) => {
  const { gates, tenantWith } = await startRuns(t, {
    env: { ...fresh.environment, WORKFLOW_SWEEP_INTERVAL: '10m' },
  });
  gates.isBroken = true;
  const retry = { max_attempts: 3, delay: '50ms', backoff: 'fixed' };
  const tenant = await tenantWith(chain({ ...flaky, config: { retry } }));
  const run = await tenant.start({}, '?wait=30');
  t.is(run.status, 'paused');
  const [, failed] = (await tenant.get(`${RUNS}/${run.id}`)).body.steps;
  t.is(failed.attempt, 3);
});

test('a run is answered at once, and waited for as long as is asked', async (t) => {
  const { gates, tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(hold));
  const run = await tenant.start();
  t.is(run.status, 'running');
  await until(() => gates.held.has(run.id));
  const before = performance.now();
  const other = await tenant.start({}, '?wait=0.3');
  t.is(other.status, 'running');
  t.true(performance.now() - before >= 290);
  const body = { definition_id: tenant.definitionId };
  for (const wait of ['abc', '-1', '31', '']) {
    const { status, body: problem } = await tenant.post(`${RUNS}?wait=${wait}`, body);
    t.is(status, 400, wait);
    t.is(problem.errors[0].pointer, '/query/wait');
  }
});

test('the same idempotency key gives the same run, with another body it is a conflict', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(echo));
  const other = await tenantWith(chain(echo));
  const { definitionId: definition_id } = tenant;
  const start = (body: object, key = 'key-1') => tenant.post(RUNS, body, { 'idempotency-key': key });
  const first = await start({ definition_id, input: { a: 1, b: 2 } });
  const again = await start({ input: { b: 2, a: 1 }, definition_id });
  t.deepEqual([first.status, again.status], [201, 200]);
  t.is(again.body.id, first.body.id);
  const mismatch = await start({ definition_id, input: { a: 2 } });
  t.is(mismatch.status, 409);
  t.is(mismatch.body.code, 'workflow.idempotency-mismatch');
  t.regex(mismatch.body.detail, /send a new key/);
  t.is((await start({ definition_id, input: { a: 2 } }, 'key-2')).status, 201);
  const elsewhere = await other.post(
    RUNS,
    { definition_id: other.definitionId, input: { a: 3 } },
    { 'idempotency-key': 'key-1' },
  );
  t.is(elsewhere.status, 201);
  const many = await Promise.all(
    Array.from({ length: 8 }, () => start({ definition_id, input: {} }, 'at once')),
  );
  t.is(new Set(many.map(({ body }) => body.id)).size, 1);
  t.is(many.filter(({ status }) => status === 201).length, 1);
  for (const key of ['x'.repeat(256), 'tab\there']) {
    const odd = await start({ definition_id }, key);
    t.deepEqual(
      [odd.status, odd.body.errors],
      [
        400,
        [{ pointer: '/headers/idempotency-key', message: 'must have 1 to 255 printable ASCII characters' }],
      ],
    );
  }
});

test('a start that is repeated gives its run also when the definition was archived meanwhile', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(echo));
  const { definitionId: definition_id } = tenant;
  const start = (input: object, key: string) =>
    tenant.post(RUNS, { definition_id, input }, { 'idempotency-key': key });
  const first = await start({ text: 'x' }, 'order-1');
  t.is(first.status, 201);
  t.is((await tenant.post(`/v1/workflow-definitions/${definition_id}/archive`)).status, 200);
  const again = await start({ text: 'x' }, 'order-1');
  t.deepEqual([again.status, again.body.id], [200, first.body.id]);
  const other = await start({ text: 'y' }, 'order-1');
  t.deepEqual([other.status, other.body.code], [409, 'workflow.idempotency-mismatch']);
  const fresh = await start({ text: 'x' }, 'order-2');
  t.deepEqual([fresh.status, fresh.body.code], [409, 'workflow.archived']);
});

test('cancelling aborts what is under way, and may be repeated; what is completed cannot be cancelled', async (t) => {
  const { gates, tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(hold));
  const run = await tenant.start();
  await until(() => gates.held.has(run.id));
  const cancelled = await tenant.post(`${RUNS}/${run.id}/cancel`);
  t.is(cancelled.status, 200);
  t.is(cancelled.body.status, 'cancelled');
  await until(() => gates.aborted.has(run.id));
  t.is((await tenant.post(`${RUNS}/${run.id}/cancel`)).status, 200);
  const { steps } = (await tenant.get(`${RUNS}/${run.id}`)).body;
  t.is(steps[1].status, 'cancelled');

  const done = await tenant.start();
  await until(() => gates.held.has(done.id));
  gates.release(done.id);
  await until(async () => (await tenant.get(`${RUNS}/${done.id}`)).body.status === 'completed');
  const late = await tenant.post(`${RUNS}/${done.id}/cancel`);
  t.is(late.status, 409);
  t.is(late.body.code, 'workflow.already-completed');
});

test('a failed step pauses the run, and a retry runs it again as the same step', async (t) => {
  const { gates, tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(flaky));
  const run = await tenant.start({}, '?wait=10');
  t.is(run.status, 'paused');
  t.like(run.error, {
    code: 'broken',
    node: 'work',
    message: 'It is broken, with [REDACTED:aws-access-key-id]',
  });
  gates.isBroken = false;
  const retried = await tenant.post(`${RUNS}/${run.id}/retry`);
  t.is(retried.status, 200);
  await until(async () => (await tenant.get(`${RUNS}/${run.id}`)).body.status === 'completed');
  const refused = await tenant.post(`${RUNS}/${run.id}/retry`);
  t.is(refused.status, 409);
  t.is(refused.body.code, 'workflow.not-paused');
  t.regex(refused.body.detail, /is completed/);
  const [, failed] = (await tenant.get(`${RUNS}/${run.id}`)).body.steps;
  t.is(failed.attempt, 2);
  const { attempts } = (await tenant.get(`${RUNS}/${run.id}/steps/${failed.id}`)).body;
  t.deepEqual(
    attempts.map(({ attempt, status }: Record<string, unknown>) => [attempt, status]),
    [
      [1, 'failed'],
      [2, 'completed'],
    ],
  );
  t.is(attempts[0].record.code, 7);
  t.notRegex(JSON.stringify((await tenant.get(`${RUNS}/${run.id}/events`)).body), /AKIA/);
});

test('input is bounded, must be an object, and may be left out', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(echo));
  const { definitionId: definition_id } = tenant;
  t.deepEqual((await tenant.post(RUNS, { definition_id })).body.input, {});
  const fits = await tenant.post(RUNS, { definition_id, input: { x: 'a'.repeat(512 * 1024 - 8) } });
  t.is(fits.status, 201);
  const large = await tenant.post(RUNS, { definition_id, input: { x: 'a'.repeat(512 * 1024 - 7) } });
  t.is(large.status, 413);
  t.is(large.body.code, 'workflow.context-too-large');
  for (const input of [[], 'text', 1, null]) {
    const { status, body } = await tenant.post(RUNS, { definition_id, input });
    t.is(status, 400);
    t.is(body.errors[0].pointer, '/body/input');
  }
  t.is((await tenant.post(RUNS, {})).status, 400);
  const unknown = await tenant.post(RUNS, { definition_id: 'unknown' });
  t.deepEqual([unknown.status, unknown.body.code], [404, 'workflow.definition-not-found']);
  t.deepEqual(
    unknown.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/body/definition_id'],
  );
  const misspelt = await tenant.post(RUNS, { definition_id, inputs: { x: 1 } });
  t.deepEqual(
    [misspelt.status, misspelt.body.errors],
    [400, [{ pointer: '/body/inputs', message: 'is not known here, did you mean input?' }]],
  );
});

test('runs are listed newest first, by definition, status and time', async (t) => {
  const { publish, tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(echo));
  const runs = [];
  for (let index = 0; index < 3; index += 1) runs.push(await tenant.start({ index }, '?wait=10'));
  const second = await publish(tenant.id, chain(flaky));
  const paused = (await tenant.post(`${RUNS}?wait=10`, { definition_id: second })).body;
  const ids = async (query: string) => {
    const { status, body } = await tenant.get(`${RUNS}?${query}`);
    t.is(status, 200, JSON.stringify(body));
    return { ids: body.workflow_runs.map(({ id }: { id: string }) => id), total: body.total };
  };
  const newest = runs.map(({ id }) => id).reverse();
  t.deepEqual(await ids(''), { ids: [paused.id, ...newest], total: 4 });
  t.deepEqual(await ids('limit=2&offset=1'), { ids: newest.slice(0, 2), total: 4 });
  t.deepEqual(await ids(`definition_id=${second}`), { ids: [paused.id], total: 1 });
  t.deepEqual(await ids('status=paused'), { ids: [paused.id], total: 1 });
  t.deepEqual(await ids('definition_id=unknown'), { ids: [], total: 0 });
  t.deepEqual(await ids(`from=${paused.started_at}`), { ids: [paused.id], total: 1 });
  t.deepEqual((await ids(`from=${runs[0].started_at}&to=${runs[0].started_at}`)).ids.at(-1), runs[0].id);
  t.is((await ids('to=2020-01-01')).total, 0);
  t.is((await ids('from=2020-01-01&to=9999-12-31')).total, 4);
  for (const query of [
    'status=odd',
    'from=yesterday',
    'to=2026-02-30',
    'limit=x',
    'limit=-1',
    'offset=1.5',
  ]) {
    t.is((await tenant.get(`${RUNS}?${query}`)).status, 400, query);
  }
  const { body } = await tenant.get(`${RUNS}?status=odd&from=yesterday`);
  t.deepEqual(
    body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/query/status', '/query/from'],
  );
});

test('runs of another tenant are not there', async (t) => {
  const { tenantWith } = await startRuns(t);
  const mine = await tenantWith(chain({ id: 'ask', type: 'human_task', config: {} }));
  const theirs = await tenantWith(chain(echo));
  const run = await mine.start({}, '?wait=10');
  const [task] = (await mine.get('/v1/workflow-tasks')).body;
  const step = task.step_run_id;
  const paths: readonly [string, string][] = [
    ['GET', `${RUNS}/${run.id}`],
    ['GET', `${RUNS}/${run.id}/events`],
    ['GET', `${RUNS}/${run.id}/steps/${step}`],
    ['POST', `${RUNS}/${run.id}/cancel`],
    ['POST', `${RUNS}/${run.id}/retry`],
    ['POST', `/v1/workflow-tasks/${step}/complete`],
    ['GET', `${RUNS}/no-uuid%00`],
    ['POST', `${RUNS}/no-uuid/cancel`],
    ['GET', `${RUNS}/no-uuid/events`],
    ['POST', '/v1/workflow-tasks/no-uuid/complete'],
  ];
  for (const [method, path] of paths) {
    t.is((await theirs.call(method, path, method === 'POST' ? {} : undefined)).status, 404, path);
  }
  const stream = await theirs.call('GET', `${RUNS}/${run.id}/events`, undefined, {
    accept: 'text/event-stream',
  });
  t.is(stream.status, 404);
  t.deepEqual((await theirs.get('/v1/workflow-tasks?all=true')).body, []);
  t.is((await theirs.get(RUNS)).body.total, 0);
  t.is((await theirs.post(RUNS, { definition_id: mine.definitionId })).status, 404);
  t.is((await mine.get(`${RUNS}/${run.id}`)).body.status, 'waiting');
});
