import { MikroORM } from '@mikro-orm/postgresql';
import test, { type ExecutionContext } from 'ava';
import { eachGatewayDatabase, gatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { chain, startRuns } from './runs-gateway.ts';

const RUNS = '/v1/workflow-runs';
const TASKS = '/v1/workflow-tasks';

const ask = (assignee: string) => ({
  id: 'ask',
  type: 'human_task',
  name: 'Approve it',
  config: { assignee, instructions: 'Is {{input.what}} fine?', timeout: '1h' },
});

/** A task with two outcomes that lead to different ends. */
const choice = (assignee = '') => ({
  nodes: [
    { id: 'start', type: 'start' },
    ask(assignee),
    { id: 'good', type: 'end' },
    { id: 'bad', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', to: 'good', condition: { outcome: 'approved' } },
    { from: 'ask', to: 'bad', condition: { outcome: 'rejected' } },
  ],
});

eachGatewayDatabase(test, 'a task waits, is listed, and is completed once', async (t, fresh) => {
  const { tenantWith } = await startRuns(t, { env: { ...fresh.environment } });
  const tenant = await tenantWith(choice());
  const run = await tenant.start({ what: 'the plan\u0000' }, '?wait=10');
  t.is(run.status, 'waiting');
  const { body: tasks } = await tenant.get(TASKS);
  t.is(tasks.length, 1);
  const [task] = tasks;
  t.like(task, {
    run_id: run.id,
    node_id: 'ask',
    node_name: 'Approve it',
    status: 'waiting',
    assignee: null,
    definition_id: tenant.definitionId,
    instructions: 'Is the plan\u0000 fine?',
  });
  t.deepEqual(task.outcomes, ['approved', 'rejected']);
  t.is(Date.parse(task.due_at) - Date.parse(task.created_at), 3_600_000);

  const complete = (body: object) => tenant.post(`${TASKS}/${task.step_run_id}/complete`, body);
  const wrong = await complete({ outcome: 'maybe' });
  t.is(wrong.status, 400);
  t.is(wrong.body.code, 'outcome_not_routable');
  t.regex(wrong.body.detail, /"maybe".*"approved", "rejected".*stays open/);
  t.deepEqual(wrong.body.errors, [
    { pointer: '/body/outcome', message: 'must be one of "approved", "rejected"' },
  ]);
  t.is((await complete({})).body.code, 'outcome_not_routable');
  t.is((await tenant.get(TASKS)).body.length, 1);

  const payload = { outcome: 'approved', output: { note: 'fine\u0000' }, variables: { level: 2 } };
  const done = await complete(payload);
  t.is(done.status, 200);
  t.like(done.body, { status: 'completed', outcome: 'approved', id: task.step_run_id, run_id: run.id });
  t.deepEqual(done.body.output, { note: 'fine\u0000' });
  t.is((await complete(payload)).status, 200);
  const other = await complete({ ...payload, variables: { level: 3 } });
  t.is(other.status, 409);
  t.is(other.body.code, 'workflow.task-completed');
  await until(async () => (await tenant.get(`${RUNS}/${run.id}`)).body.status === 'completed');
  const { variables, steps } = (await tenant.get(`${RUNS}/${run.id}`)).body;
  t.deepEqual(variables, { level: 2 });
  const statuses = Object.fromEntries(
    steps.map((step: Record<string, string>) => [step.node_id, step.status]),
  );
  t.deepEqual(statuses, { start: 'completed', ask: 'completed', good: 'completed', bad: 'skipped' });
  t.deepEqual((await tenant.get(TASKS)).body, []);
  const [start] = steps;
  const noTask = await tenant.post(`${TASKS}/${start.id}/complete`, {});
  t.is(noTask.status, 409);
  t.is(noTask.body.code, 'workflow.task-not-open');
});

test('a payload of another form is refused, naming the field', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(choice());
  await tenant.start({}, '?wait=10');
  const [task] = (await tenant.get(TASKS)).body;
  const bad: readonly [string, unknown][] = [
    ['outcome', 1],
    ['outcome', null],
    ['outcome', 'a\u0000'],
    ['outcome', 'a\ud800'],
    ['outcom', 'approved'],
    ['output', []],
    ['output', 'text'],
    ['variables', 7],
    ['variables', null],
  ];
  for (const [field, value] of bad) {
    const { status, body } = await tenant.post(`${TASKS}/${task.step_run_id}/complete`, { [field]: value });
    t.is(status, 400);
    t.is(body.errors[0].pointer, `/body/${field}`);
  }
  const misspelt = await tenant.post(`${TASKS}/${task.step_run_id}/complete`, { outcom: 'approved' });
  t.is(misspelt.body.errors[0].message, 'is not known here, did you mean outcome?');
  t.is((await tenant.get(TASKS)).body.length, 1);
});

test('where comparisons alone lead on, a completion that leads nowhere is told them, without credentials', async (t) => {
  const { tenantWith } = await startRuns(t);
  const graph = choice();
  const compare = (value: string) => ({ field: 'steps.ask.output.code', op: 'eq', value }) as const;
  const tenant = await tenantWith({
    ...graph,
    edges: [
      { from: 'start', to: 'ask' },
      { from: 'ask', to: 'good', condition: compare('fine') },
      { from: 'ask', to: 'bad', condition: compare('AKIAIOSFODNN7EXAMPLE') },
    ],
  });
  await tenant.start({}, '?wait=10');
  const [task] = (await tenant.get(TASKS)).body;
  const { status, body } = await tenant.post(`${TASKS}/${task.step_run_id}/complete`, {
    outcome: 'approved',
  });
  t.deepEqual([status, body.code, body.errors[0].pointer], [400, 'outcome_not_routable', '/body']);
  t.regex(
    body.detail,
    /none of the conditions of its edges holds: steps\.ask\.output\.code eq "fine"; .*stays open/,
  );
  t.notRegex(JSON.stringify(body), /AKIAIOSFODNN7EXAMPLE/);
});

test('a completion that is too large is told its size and the limit', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(choice());
  await tenant.start({}, '?wait=10');
  const [task] = (await tenant.get(TASKS)).body;
  const variables = { x: 'a'.repeat(512 * 1024) };
  const { status, body } = await tenant.post(`${TASKS}/${task.step_run_id}/complete`, { variables });
  t.deepEqual([status, body.code], [413, 'workflow.context-too-large']);
  t.regex(
    body.detail,
    /all variables together would have 524296 characters of JSON; 524288 characters are allowed\. Nothing/,
  );
});

test('who may complete a task sees it; others get 403, administrators may complete all', async (t) => {
  const gateway = await startRuns(t);
  const { key, publish, request } = gateway;
  const tenant = await gateway.makeTenant();
  const [ada, bob, bill, boss] = [
    await key(tenant.id, ['user']),
    await key(tenant.id, ['user']),
    await key(tenant.id, ['billing'], ['read', 'execute']),
    await key(tenant.id, ['admin']),
  ];
  const asked: Record<string, string> = {};
  for (const assignee of ['', ada.id, 'role:billing', 'role:ops']) {
    const definition_id = await publish(tenant.id, choice(assignee));
    const started = await request(`${RUNS}?wait=10`, {
      method: 'POST',
      token: ada.key,
      body: { definition_id },
    });
    asked[started.body.id] = assignee;
  }
  const seen = async (token: string, query = '', headers = {}) => {
    const { status, body } = await request(`${TASKS}${query}`, { token, headers });
    return status === 200 ? body.map((task: { run_id: string }) => asked[task.run_id]) : status;
  };
  t.deepEqual(await seen(ada.key), ['', ada.id]);
  t.deepEqual(await seen(bob.key), ['']);
  t.deepEqual(await seen(bob.key, '', { 'x-svc-user-id': ada.id }), ['']);
  t.deepEqual(await seen(bill.key), ['', 'role:billing']);
  t.deepEqual(await seen(boss.key, '?all=true'), ['', ada.id, 'role:billing', 'role:ops']);
  t.deepEqual(await seen(boss.key, '?all=true&limit=2&offset=1'), [ada.id, 'role:billing']);
  const everybody = await request(`${TASKS}?all=true`, { token: ada.key });
  t.deepEqual([everybody.status, everybody.body.code], [403, 'workflow.all-tasks-forbidden']);
  t.regex(everybody.body.title, /list the tasks of everybody/);
  const [looker, watcher, runner, root] = await Promise.all([
    key(tenant.id, ['user'], ['read']),
    key(tenant.id, ['admin'], ['workflow:read']),
    key(tenant.id, ['user'], ['read', 'workflow:run']),
    key(tenant.id, ['user'], ['admin']),
  ]);
  t.deepEqual(await seen(looker.key), [], 'it may complete none');
  t.deepEqual(await seen(watcher.key), []);
  t.is((await seen(watcher.key, '?all=true')).length, 4, 'an administrator may look at all');
  t.deepEqual(await seen(runner.key), ['']);
  t.deepEqual(await seen(root.key), ['']);
  t.is(await seen(ada.key, '?all=perhaps'), 400);

  const { body: all } = await request(`${TASKS}?all=true`, { token: boss.key });
  const complete = async (token: string, assignee: string, headers = {}) => {
    const task = all.find((one: { run_id: string }) => asked[one.run_id] === assignee);
    const body = { outcome: 'approved' };
    return request(`${TASKS}/${task.step_run_id}/complete`, { method: 'POST', token, body, headers });
  };
  const refused = await complete(bob.key, ada.id, { 'x-svc-user-id': ada.id });
  t.is(refused.status, 403);
  t.is(refused.body.code, 'workflow.not-assigned');
  t.regex(refused.body.detail, /administrators of the tenant may complete it/);
  t.is((await complete(ada.key, 'role:billing')).status, 403);
  t.is((await complete(ada.key, ada.id)).status, 200);
  t.is((await complete(bill.key, 'role:billing')).status, 200);
  t.is((await complete(boss.key, 'role:ops')).status, 200);
  t.is((await complete(bob.key, '')).status, 200);
});

test('a cancelled run takes its tasks off the list', async (t) => {
  const { tenantWith } = await startRuns(t);
  const tenant = await tenantWith(chain(ask('')));
  const run = await tenant.start({}, '?wait=10');
  const [task] = (await tenant.get(TASKS)).body;
  await tenant.post(`${RUNS}/${run.id}/cancel`);
  t.deepEqual((await tenant.get(TASKS)).body, []);
  const late = await tenant.post(`${TASKS}/${task.step_run_id}/complete`, {});
  t.is(late.status, 409);
  t.is(late.body.code, 'workflow.task-not-open');
});

test('a completion that was on its way to one attempt of a task does not complete the next one', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const gateway = await startRuns(t, { env: { ...fresh.environment } });
  const tenant = await gateway.makeTenant();
  const ada = await gateway.key(tenant.id, ['user']);
  const definition_id = await gateway.publish(tenant.id, chain(ask(ada.id)));
  const call = (path: string, body: object) =>
    gateway.request(path, { method: 'POST', token: ada.key, body });
  const run = (await call(`${RUNS}?wait=10`, { definition_id })).body;
  const [task] = (await gateway.request(TASKS, { token: ada.key })).body;

  // Somebody else holds the run, and is about to store the next attempt of the task, which is another one's.
  const held = await holdRows(t, fresh.environment.DATABASE_URL!);
  await held.execute(`update workflow_runs set revision = revision + 1 where id = '${run.id}'`);
  await held.execute(
    `update workflow_steps set attempt = 2, assignee = '"role:ops"' where id = '${task.step_run_id}'`,
  );
  const late = call(`${TASKS}/${task.step_run_id}/complete`, { outcome: 'approved' });
  await until(async () => (await held.execute('select 1 from pg_locks where not granted')).length > 0);
  await held.commit();

  const { status, body } = await late;
  t.deepEqual([status, body.code], [409, 'workflow.task-not-open'], JSON.stringify(body));
  const { status: left, steps } = (await gateway.request(`${RUNS}/${run.id}`, { token: ada.key })).body;
  t.is(left, 'waiting');
  t.like(steps[1], { status: 'waiting', attempt: 2, assignee: 'role:ops' });
});

/** A transaction past the gateway; what it writes stays locked until it commits. */
async function holdRows(t: ExecutionContext, clientUrl: string) {
  const orm = new MikroORM({ entities: [], discovery: { warnWhenNoEntities: false }, clientUrl });
  await orm.connect();
  t.teardown(() => orm.close(true));
  const entities = orm.em.fork();
  await entities.begin();
  return {
    execute: (sql: string) => entities.execute<unknown[]>(sql),
    commit: () => entities.commit(),
  };
}
