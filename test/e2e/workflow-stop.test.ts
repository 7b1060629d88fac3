import test, { type ExecutionContext } from 'ava';
import Type from 'typebox';
import {
  type DeliveredEvent,
  EventSinksPoint,
  NodeTypesPoint,
  WorkflowEngineRef,
} from '../../plugins/workflow/contract.ts';
import { gatewayTables } from '../../plugins/workflow/store/tables.ts';
import { toolCalls } from '../plugins/runtime/runtime-gateway.ts';
import { startWorkflows } from '../plugins/workflow/plugin-kit.ts';
import { chain } from '../plugins/workflow/routes/runs-gateway.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { stream } from '../support/fake-provider.ts';
import { gate, testPlugin } from '../support/plugins.ts';
import { until } from '../support/until.ts';

const step = { id: 'work', type: 'acme/hold' };
/** Events of a run whose step is under way: it was started, its start node completed, the step started. */
const BEGUN = 3;

/**
 * A plugin that needs the engine and adds a step, which ends when the test says so and works as long as the plugin is
 * there.
 */
function acmePlugin() {
  const held = new Map<string, () => void>();
  const log: string[] = [];
  const plugin = testPlugin('acme', {
    needs: { workflows: WorkflowEngineRef },
    setup(scope) {
      let isOpen = true;
      scope.defer(() => {
        isOpen = false;
        log.push('closed');
      });
      scope.contribute(NodeTypesPoint, {
        type: step.type,
        summary: 'Waits until somebody opens it.',
        config: Type.Object({}, { additionalProperties: false }),
        async execute({ runId, signal }) {
          await new Promise<void>((resolve, reject) => {
            held.set(runId, resolve);
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
          log.push(isOpen ? 'worked' : 'found itself closed');
          return { output: {} };
        },
      });
    },
  });
  return { plugin, held, log };
}

/** A plugin with a sink for events of runs. */
function receiverPlugin() {
  const events: DeliveredEvent[] = [];
  const plugin = testPlugin('receiver', {
    setup(scope) {
      scope.contribute(EventSinksPoint, {
        name: 'receiver',
        wants: () => true,
        deliver: async (some) => void events.push(...some),
      });
    },
  });
  return {
    plugin,
    seqsOf: (runId: string) => events.filter(({ run_id }) => run_id === runId).map(({ seq }) => seq),
  };
}

/** A gateway with both plugins and two runs, whose steps are under way. */
async function startTwoRuns(t: ExecutionContext, env: Record<string, string>) {
  const acme = acmePlugin();
  const receiver = receiverPlugin();
  const gateway = await startWorkflows(t, { env, plugins: [acme.plugin, receiver.plugin] });
  const definition = await gateway.publish(chain(step));
  const runs = [await gateway.start(definition, {}, 0), await gateway.start(definition, {}, 0)];
  const [first, second] = runs.map(({ id }) => String(id)) as [string, string];
  await until(() => acme.held.size === 2);
  const isDraining = (plugin: string) => gateway.gateway.host.slots.find(plugin)!.status.state === 'draining';
  return { gateway, acme, receiver, first, second, isDraining };
}

test('a step that ends while the gateway stops finds its plugin, and its events reach the sink of another plugin', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const env = { ...fresh.environment, SVC_DRAIN_TIMEOUT: '30s' };
  const { gateway, acme, receiver, first, second, isDraining } = await startTwoRuns(t, env);
  const stopping = gateway.stop();
  await until(() => isDraining('acme') && isDraining('receiver'));
  acme.held.get(first)!();
  await until(() => receiver.seqsOf(first).length > BEGUN);
  t.deepEqual(acme.log, ['worked']);
  acme.held.get(second)!();
  await stopping;
  t.deepEqual(acme.log, ['worked', 'worked', 'closed']);
  // Those of the last step too: the stop waits a moment for them.
  t.deepEqual(receiver.seqsOf(second), receiver.seqsOf(first));

  const [again, after] = [acmePlugin(), receiverPlugin()];
  const next = await startWorkflows(t, { env, plugins: [again.plugin, after.plugin] });
  for (const run of [first, second]) {
    const { steps } = await next.reaches(run, 'completed');
    t.like(steps[1], { status: 'completed', attempt: 1 });
    const { total } = await next.get(`/v1/workflow-runs/${run}/events`);
    const heard = () => new Set([...receiver.seqsOf(run), ...after.seqsOf(run)]);
    await until(() => heard().size >= total);
    t.deepEqual(
      [...heard()].toSorted((a, b) => a - b),
      Array.from({ length: total }, (_, index) => index + 1),
    );
  }
  t.deepEqual(again.log, [], 'no step was done again');
});

test('a plugin that needs the engine is there for its steps when the engine is disabled', async (t) => {
  const env = { SVC_DRAIN_TIMEOUT: '30s' };
  const { gateway, acme, receiver, first, second, isDraining } = await startTwoRuns(t, env);
  const disabled = gateway.turn('workflow', 'disable');
  await until(() => isDraining('acme') && isDraining('workflow'));
  acme.held.get(first)!();
  await until(() => receiver.seqsOf(first).length > BEGUN);
  acme.held.get(second)!();
  await disabled;
  t.deepEqual(acme.log, ['worked', 'worked', 'closed']);
  await gateway.turn('workflow', 'enable');
  await gateway.reaches(first, 'completed');
  await gateway.reaches(second, 'completed');
});

test('a run that was left behind goes on when all plugins are back, with the node type and the sink that come last', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const env = { ...fresh.environment, SVC_DRAIN_TIMEOUT: '200ms' };
  const before = await startTwoRuns(t, env);
  await before.gateway.stop();
  t.deepEqual(before.acme.log, ['closed']);

  const [acme, receiver] = [acmePlugin(), receiverPlugin()];
  // Comes between the engine and those that add to it, and takes its time.
  const slow = testPlugin('aaa', {
    needs: { workflows: WorkflowEngineRef },
    async setup({ services: { database } }) {
      for (let turn = 0; turn < 200; turn += 1) await database.ping(10_000);
    },
  });
  const after = await startWorkflows(t, { env, plugins: [slow, acme.plugin, receiver.plugin] });
  for (const run of [before.first, before.second]) {
    await until(() => acme.held.has(run));
    acme.held.get(run)!();
    await after.reaches(run, 'completed');
    const { total } = await after.get(`/v1/workflow-runs/${run}/events`);
    const heard = () => new Set([...before.receiver.seqsOf(run), ...receiver.seqsOf(run)]);
    await until(() => heard().size === total);
  }
  t.deepEqual(acme.log, ['worked', 'worked']);
});

test('a chat that is in flight when the gateway stops starts a workflow, which goes on with the next one', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const env = { ...fresh.environment, SVC_DRAIN_TIMEOUT: '30s' };
  const thought = gate();
  let definition = '';
  const before = await startWorkflows(t, {
    env,
    scripts: [
      async (reply) => {
        await thought.opened;
        await toolCalls(['start_workflow', { workflow: definition }])(reply);
      },
      stream(['It runs.']),
    ],
  });
  const work = { id: 'ask', type: 'agent_task', config: { prompt: 'Hi', model: 'demo' } };
  definition = await before.publish(chain(work));
  const chat = before.post('/v1/agent/chat', { messages: [{ role: 'user', content: 'Run it.' }] });
  await until(() => before.requests.length === 1);
  const stopping = before.stop();
  const { database } = before.gateway.services;
  await until(async () => (await database.system().count(gatewayTables.workers)) === 0);
  thought.open();
  t.is((await chat).body.choices[0].message.content, 'It runs.');
  await stopping;
  const result = JSON.parse(before.requests[1]!.body.messages.at(-1).content);
  t.is(result.status, 'running');

  const after = await startWorkflows(t, { env });
  const { steps } = await after.reaches(result.run_id, 'completed');
  t.like(steps[1], { node_id: 'ask', status: 'completed', attempt: 1 });
});
