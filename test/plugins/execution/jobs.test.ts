import test from 'ava';
import { until } from '../../support/until.ts';
import { openStream } from '../workflow/routes/event-stream.ts';
import { FORMS, groundOf, startJobs } from './jobs-kit.ts';

const numbered = (events: readonly { readonly id: string | undefined }[], first = 1) =>
  events.every(({ id }, at) => id === String(first + at));

for (const form of FORMS) {
  test(`${form.name}: a job is started once by its key, goes on by itself, and is shown with its events`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const { post, read, reaches, eventsOf, request } = await startJobs(t, ground);
    const body = { graph_name: 'test/shout', input: { text: 'hello' } };
    const headers = { 'idempotency-key': 'first' };
    const first = await post('/jobs', body, { headers });
    t.is(first.status, 202);
    const { job_id } = first.body;
    t.deepEqual(first.body, { job_id, status: 'pending' });
    const done = await reaches(job_id, 'completed');
    t.like(done, { job_id, graph_name: 'test/shout', input: { text: 'hello' }, output: { text: 'HELLO' } });
    t.like(done, { error: null, variables: {} });
    t.true(done.created_at <= done.started_at && done.started_at <= done.completed_at);
    t.deepEqual(
      done.steps.map(({ node_id, status }: Record<string, string>) => `${node_id} ${status}`),
      ['start completed', 'work completed', 'end completed'],
    );

    const again = await post('/jobs', { input: body.input, graph_name: body.graph_name }, { headers });
    t.is(again.status, 200);
    t.deepEqual(again.body, { job_id, status: 'completed' });
    const other = await post('/jobs', { ...body, input: {} }, { headers });
    t.is(other.status, 409);
    t.is(other.body.code, 'job.idempotency-mismatch');
    t.is((await request('/jobs')).body.total, 1);

    const events = await eventsOf(job_id);
    t.deepEqual(
      events.map(({ event, data }) => [event, data.node_id].filter(Boolean).join(' ')),
      [
        'job.started',
        'step.started start',
        'step.completed start',
        'step.started work',
        'step.completed work',
        'step.started end',
        'step.completed end',
        'job.completed',
      ],
    );
    t.true(numbered(events));
    t.deepEqual(events.at(-1)!.data.data, { output: { text: 'HELLO' } });
    t.true(events.every(({ id, event, data }) => data.seq === Number(id) && data.type === event));
    t.deepEqual(await eventsOf(job_id, 3), events.slice(3));
    t.deepEqual(await eventsOf(job_id, events.length), []);
    t.is((await read('none')).code, 'job.not-found');
  });

  test(`${form.name}: a failed step ends the job for good, and what else it did is aborted`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const { start, reaches, eventsOf, post, held } = await startJobs(t, ground);
    const id = await start('test/fails');
    const failed = await reaches(id, 'failed');
    t.deepEqual(failed.error, { code: 'too_bad', message: 'It never works', node_id: 'bad' });
    t.not(failed.completed_at, null);
    t.is(failed.output, null);
    await until(() => held.size === 0);
    const statuses = Object.fromEntries(
      failed.steps.map((step: Record<string, string>) => [step.node_id, step.status]),
    );
    t.like(statuses, { bad: 'failed', work: 'cancelled', ask: 'cancelled' });
    const events = await eventsOf(id);
    t.true(numbered(events));
    t.is(events.filter(({ event }) => event === 'step.failed').length, 1);
    const last = events.at(-1)!;
    t.is(last.event, 'job.failed');
    t.like(last.data.data.error, { code: 'too_bad', node_id: 'bad' });
    for (const verb of ['cancel', 'resume']) {
      const { status, body } = await post(`/jobs/${id}/${verb}`);
      t.is(status, 409, verb);
      t.is(body.code, verb === 'cancel' ? 'job.ended' : 'job.not-waiting');
    }
    t.is((await reaches(id, 'failed')).status, 'failed');
  });

  test(`${form.name}: a job that waits is resumed by one of many, and cancelled by anybody`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const { start, reaches, post, eventsOf } = await startJobs(t, ground);
    const id = await start('test/choose', { text: 'a' });
    await reaches(id, 'waiting');
    const nowhere = await post(`/jobs/${id}/resume`, { outcome: 'perhaps' });
    t.is(nowhere.status, 400);
    t.is(nowhere.body.code, 'job.outcome-not-routable');
    t.is(nowhere.body.errors[0].pointer, '/body/outcome');
    const said = { outcome: 'yes', output: { by: 'phone' }, variables: { a: 1 } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(`/jobs/${id}/resume`, said)));
    t.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
    t.true(
      answers.filter(({ status }) => status === 409).every(({ body }) => body.code === 'job.not-waiting'),
    );
    const done = await reaches(id, 'completed');
    t.deepEqual(done.variables, { a: 1 });
    t.deepEqual(done.output, { text: 'A' });
    const events = await eventsOf(id);
    t.true(numbered(events));
    t.deepEqual(events.find(({ event }) => event === 'job.waiting')!.data.data, { node_ids: ['ask'] });
    t.is((await post(`/jobs/${id}/cancel`)).body.code, 'job.ended');

    const other = await start('filed');
    await reaches(other, 'waiting');
    for (const _ of [1, 2])
      t.like(await post(`/jobs/${other}/cancel`), { status: 200, body: { status: 'cancelled' } });
    t.is((await eventsOf(other)).at(-1)!.event, 'job.cancelled');
    t.is((await post(`/jobs/${other}/resume`)).status, 409);
  });

  test(`${form.name}: jobs are listed by status and graph, newest first, pending ones too`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const env = { ...ground.env, WORKFLOW_CONCURRENCY: '1' };
    const { start, reaches, read, request, held, post, eventsOf } = await startJobs(t, { env });
    const running = await start('test/hold');
    await until(() => held.has(running), 20_000);
    const pending = await start('test/shout', { text: 'x' });
    const waiting = await start('test/ask');
    const cancelled = await start('test/ask');
    await post(`/jobs/${cancelled}/cancel`);
    const ids = { running, pending, waiting, cancelled };
    for (const [status, id] of Object.entries(ids)) {
      t.is((await read(id)).status, status);
      const { body } = await request(`/jobs?status=${status}`);
      t.deepEqual(
        body.jobs.map(({ job_id }: { job_id: string }) => job_id),
        [id],
      );
      t.is(body.total, 1);
    }
    t.is((await read(pending)).started_at, null);
    t.not((await read(running)).started_at, null);
    const page = (await request('/jobs?limit=2&offset=1')).body;
    t.like(page, { total: 4, limit: 2, offset: 1 });
    t.deepEqual(
      page.jobs.map(({ job_id }: { job_id: string }) => job_id),
      [waiting, pending],
    );
    t.is((await request('/jobs?graph_name=test/ask')).body.total, 2);
    t.is((await request('/jobs?graph_name=test/ask&status=waiting')).body.total, 1);
    t.is((await request('/jobs?limit=9999')).body.limit, 100);
    t.is((await request('/jobs?limit=-1')).status, 400);
    t.is((await request('/jobs?status=lost')).status, 400);
    const unbegun = await start('test/shout', { text: 'y' });
    await post(`/jobs/${unbegun}/cancel`);
    t.like(await read(unbegun), { status: 'cancelled', started_at: null });
    t.deepEqual(
      (await eventsOf(unbegun)).map(({ id, event }) => [id, event]),
      [['1', 'job.cancelled']],
    );
    held.get(running)!();
    for (const id of [running, pending]) await reaches(id, 'completed');
    t.is((await request('/jobs?status=completed')).body.total, 2);
    t.deepEqual((await request('/jobs?status=failed')).body.jobs, []);
  });
}

test('of several nodes that wait one has to be named', async (t) => {
  const { start, reaches, post, read } = await startJobs(t);
  const id = await start('test/two');
  await reaches(id, 'waiting');
  const resume = (body: object) => post(`/jobs/${id}/resume`, body);
  for (const body of [{}, { node_id: 'carl' }]) {
    const answer = await resume(body);
    t.is(answer.status, 400);
    t.is(answer.body.code, 'job.node-needed');
    t.regex(answer.body.errors[0].message, /"ann", "bob"/);
  }
  t.is((await resume({ node_id: 'start' })).status, 409);
  t.is((await resume({ node_id: 'ann' })).status, 200);
  t.is((await resume({ node_id: 'ann' })).status, 409);
  t.is((await resume({})).body.status, 'completed');
  t.is((await read(id)).status, 'completed');
});

test('why a job failed, or was not resumed, is said without the words of workflow runs', async (t) => {
  const { start, reaches, post } = await startJobs(t, { env: { WORKFLOW_MAX_STEPS: '2' } });
  const { error } = await reaches(await start('test/shout', { text: 'hello' }), 'failed');
  t.is(error.code, 'max_steps_exceeded');
  const waits = await start('test/ask');
  await reaches(waits, 'waiting');
  const { status, body } = await post(`/jobs/${waits}/resume`, { variables: { text: 'x'.repeat(530_000) } });
  t.is(status, 413);
  for (const text of [error.message, body.title, body.detail]) t.notRegex(text, /\bruns?\b/);
});

test('a start that names no graph that runs is refused with what there is', async (t) => {
  const { post } = await startJobs(t);
  const unknown = await post('/jobs', { graph_name: 'test/shou' });
  t.is(unknown.status, 404);
  t.is(unknown.body.code, 'job.graph-not-found');
  t.regex(unknown.body.detail, /Did you mean test\/shout\?.*filed/);
  const wrong = await post('/jobs', { graph_name: '', input: [], more: 1 });
  t.is(wrong.status, 400);
  t.is(wrong.body.errors.length, 3);
  t.is((await post('/admin/v1/plugins/bad/disable')).status, 200);
  const absent = await post('/jobs', { graph_name: 'test/fails' });
  t.is(absent.status, 409);
  t.is(absent.body.code, 'job.graph-not-runnable');
});

test('a stream brings what happens as it happens, and a ping is no event of it', async (t) => {
  const { start, post, url, token, reaches } = await startJobs(t);
  const id = await start('test/ask');
  await reaches(id, 'waiting');
  const stream = await openStream(`${url}/jobs/${id}/stream`, token);
  t.regex(stream.type, /^text\/event-stream/);
  await until(() => stream.events.at(-1)?.event === 'job.waiting');
  await post(`/jobs/${id}/resume`);
  await stream.ended;
  t.is(stream.events.at(-1)!.event, 'job.completed');
  t.true(numbered(stream.events));
  // A browser opens a stream that has ended again and again, until it gets 204.
  const last = stream.events.at(-1)!.id!;
  for (const [seen, status] of [
    [last, 204],
    [String(Number(last) - 1), 200],
  ] as const) {
    const again = await openStream(`${url}/jobs/${id}/stream`, token, { 'last-event-id': seen });
    await again.ended;
    t.is(again.status, status);
  }
  const bad = await openStream(`${url}/jobs/${id}/stream`, token, { 'last-event-id': 'x' });
  t.is(bad.status, 400);
  bad.close();
});
