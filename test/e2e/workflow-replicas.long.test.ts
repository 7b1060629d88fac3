import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../testing/index.ts';
import { openStream } from '../plugins/workflow/routes/event-stream.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { gate } from '../support/plugins.ts';
import { chosen } from '../support/sample.ts';
import { until } from '../support/until.ts';
import {
  eventsOf,
  FORMS,
  type Form,
  hears,
  nameOf,
  replicaEnvironment,
  startReplica,
  startRun,
  statusOf,
} from '../support/workflow-gateways.ts';
import { faultsOfRun, faultsOfStory, faultsOfTables, readRun } from '../support/workflow-invariants.ts';
import { type Answering, startWorkflowService } from '../support/workflow-service.ts';
import { calls, chain, publish, storyGraph } from '../support/workflow-story.ts';

const DEADLINE_MS = 60_000;
const TASK = { outcome: 'approve', variables: { isApproved: true } };

/** Two replicas over one database, and the service behind both. */
async function setUp(t: ExecutionContext, form: Form, env: Record<string, string>, answering?: Answering) {
  t.timeout(4 * DEADLINE_MS);
  const fresh = await gatewayDatabase(t, form.family);
  if (fresh === undefined) return undefined;
  const service = await startWorkflowService(t, answering);
  const variables = await replicaEnvironment(t, form, fresh, service, env);
  if (variables === undefined) return undefined;
  const replicas = await Promise.all([startReplica(t, variables), startReplica(t, variables)]);
  return { fresh, service, replicas };
}

const post = ({ request }: TestGateway, path: string, body?: object) =>
  request(path, { method: 'POST', ...(body && { body }) });

for (const form of chosen('workflow replicas', FORMS, 1)) {
  const name = nameOf(form);

  test(`${name}: of many runs on two replicas each task is completed once, whoever races for it`, async (t) => {
    const parts = await setUp(t, form, { WORKFLOW_SWEEP_INTERVAL: '1s' });
    if (parts === undefined) return;
    const { fresh, service, replicas } = parts;
    const definition = await publish(replicas[0].request, storyGraph(service.url));
    const runs = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const story = `story-${index}-`;
        return { story, id: await startRun(replicas[index % 2]!.request, definition, story) };
      }),
    );
    const race = async ({ id, story }: (typeof runs)[number]) => {
      const { request } = replicas[0];
      await until(async () => (await statusOf(request, id)) === 'waiting', DEADLINE_MS);
      const { run } = await readRun(request, id);
      const task = run.steps.find(({ node_id }) => node_id === 'human')!;
      // Two say one thing each, five times, on both replicas.
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const by = index % 3 === 0 ? 'ada' : 'ben';
          const body = { ...TASK, output: { by } };
          const { status } = await post(replicas[index % 2]!, `/v1/workflow-tasks/${task.id}/complete`, body);
          return { by, status };
        }),
      );
      const winner = answers.find(({ status }) => status === 200)?.by;
      t.deepEqual(
        answers.map(({ status }) => status),
        answers.map(({ by }) => (by === winner ? 200 : 409)),
        story,
      );
      await until(async () => (await statusOf(request, id)) === 'completed', DEADLINE_MS);
      const told = await readRun(replicas[1].request, id);
      t.deepEqual([...faultsOfRun(told), ...faultsOfStory(told, service.of(story), 0)], [], story);
      const human = told.run.steps.find(({ node_id }) => node_id === 'human')!;
      t.deepEqual(human.output, { by: winner });
      t.is(told.events.filter(({ type }) => type === 'task.completed').length, 1);
    };
    await Promise.all(runs.map(race));
    t.deepEqual(await faultsOfTables(fresh.ask, 2), []);
  });

  test(`${name}: starts with one key and retries of one run race on two replicas, and one of each wins`, async (t) => {
    const opened = gate();
    const answering: Answering = async ({ key }) => {
      if (key.endsWith('-1')) return 500;
      await opened.opened;
      return 200;
    };
    const parts = await setUp(t, form, { WORKFLOW_SWEEP_INTERVAL: '1s' }, answering);
    if (parts === undefined) return;
    const { fresh, service, replicas } = parts;
    const definition = await publish(replicas[0].request, chain(calls(service.url, 'x')));
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        replicas[index % 2]!.request('/v1/workflow-runs', {
          method: 'POST',
          headers: { 'idempotency-key': 'the same' },
          body: { definition_id: definition, input: { story: 'raced' } },
        }),
      ),
    );
    t.is(new Set(started.map(({ body }) => body.id)).size, 1);
    t.deepEqual(started.map(({ status }) => status).sort(), [...Array(19).fill(200), 201]);
    const { id } = started[0]!.body;
    await until(async () => (await statusOf(replicas[0].request, id)) === 'paused', DEADLINE_MS);

    const retried = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post(replicas[index % 2]!, `/v1/workflow-runs/${id}/retry`)),
    );
    t.deepEqual(retried.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
    opened.open();

    await until(async () => (await statusOf(replicas[1].request, id)) === 'completed', DEADLINE_MS);
    const told = await readRun(replicas[0].request, id);
    t.deepEqual(faultsOfRun(told), []);
    const step = told.run.steps.find(({ node_id }) => node_id === 'x')!;
    t.deepEqual(
      service.calls.map(({ key }) => key),
      [`${step.id}-1`, `${step.id}-2`],
    );
    t.deepEqual(await faultsOfTables(fresh.ask, 2), []);
  });

  test(`${name}: a run that one replica carries out is followed and cancelled on the other`, async (t) => {
    // Where replicas hear of each other nothing waits for a sweep.
    const sweep = hears(form) ? '30s' : '1s';
    const silence = new Promise<never>(() => {});
    const answering: Answering = ({ node }) => (node === 'slow' ? silence : undefined);
    const parts = await setUp(t, form, { WORKFLOW_SWEEP_INTERVAL: sweep }, answering);
    if (parts === undefined) return;
    const { fresh, service, replicas } = parts;
    const graph = chain(calls(service.url, 'quick'), calls(service.url, 'slow'));
    const definition = await publish(replicas[0].request, graph);
    const id = await startRun(replicas[0].request, definition, 'cancelled');
    const stream = await openStream(`${replicas[1].url}/v1/workflow-runs/${id}/events`, replicas[1].token);
    t.teardown(stream.close);
    const slow = () => service.calls.find(({ node }) => node === 'slow');
    await until(() => slow() !== undefined, DEADLINE_MS);
    const isFollowed = () => stream.events.filter(({ event }) => event === 'step.started').length === 2;
    await until(isFollowed, DEADLINE_MS);

    const began = performance.now();
    const cancelled = await post(replicas[1], `/v1/workflow-runs/${id}/cancel`);
    t.is(cancelled.status, 200);
    t.is(cancelled.body.status, 'cancelled');
    await until(() => slow()!.isAborted, DEADLINE_MS);
    const took = performance.now() - began;

    t.log(`the call was aborted ${Math.round(took)} ms after the cancellation was asked for`);
    t.true(took < 15_000, `${took} ms`);
    await stream.ended;
    t.deepEqual(
      stream.events.map(({ data }) => data),
      await eventsOf(replicas[0].request, id),
    );
    t.is(stream.events.at(-1)!.event, 'run.cancelled');
    t.is((await post(replicas[0], `/v1/workflow-runs/${id}/cancel`)).status, 200);
    t.is((await post(replicas[0], `/v1/workflow-runs/${id}/retry`)).status, 409);
    t.is(service.calls.length, 2);
    t.deepEqual(await faultsOfTables(fresh.ask, 2), []);
  });
}
