import test from 'ava';
import { type DeliveredEvent, EventSinksPoint } from '../../../plugins/workflow/contract.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { ask, shout, startWorkflows, typesPlugin } from './plugin-kit.ts';
import { chain } from './routes/runs-gateway.ts';

/** A plugin with a sink that takes events, or refuses them while `isBroken`. */
function sinkPlugin(name: string, isBroken: () => boolean = () => false) {
  const events: DeliveredEvent[] = [];
  let refused = 0;
  const plugin = testPlugin(name, {
    setup(scope) {
      scope.contribute(EventSinksPoint, {
        name,
        wants: () => true,
        async deliver(some) {
          if (isBroken()) {
            refused += 1;
            throw new Error('the receiver is away');
          }
          events.push(...some);
        },
      });
    },
  });
  return {
    plugin,
    events,
    get refused() {
      return refused;
    },
    seqs: (runId: string) => events.filter(({ run_id }) => run_id === runId).map(({ seq }) => seq),
  };
}

const counted = (total: number) => Array.from({ length: total }, (_, index) => index + 1);

test('a sink gets every event of a run once and in order, whatever becomes of another sink', async (t) => {
  let isBroken = true;
  const good = sinkPlugin('good');
  const bad = sinkPlugin('bad', () => isBroken);
  const gateway = await startWorkflows(t, { plugins: [typesPlugin().plugin, bad.plugin, good.plugin] });
  const definition = await gateway.publish(chain(ask, shout));
  const run = await gateway.start(definition, { text: 'AKIAIOSFODNN7EXAMPLE' });
  await gateway.completeTask({ outcome: 'AKIAIOSFODNN7EXAMPLE' });
  await gateway.reaches(run.id, 'completed');
  const { events: stored, total } = await gateway.get(`/v1/workflow-runs/${run.id}/events`);
  await until(() => good.seqs(run.id).length === total && bad.refused > 0, 20_000);
  t.deepEqual(good.seqs(run.id), counted(total));
  const [first] = good.events;
  t.deepEqual(first, {
    ...stored[0],
    tenant_id: first!.tenant_id,
    run_id: run.id,
    definition_id: definition,
  });
  t.notRegex(JSON.stringify(good.events), /AKIA/);
  t.deepEqual(bad.events, []);
  isBroken = false;
  await until(() => bad.seqs(run.id).length === total, 20_000);
  t.deepEqual(bad.seqs(run.id), counted(total));
  t.deepEqual(good.seqs(run.id), counted(total), 'what was taken does not come again');
});

eachGatewayDatabase(test, 'a sink gets after a restart what it has missed', async (t, fresh) => {
  const env = { ...fresh.environment };
  const away = sinkPlugin('receiver', () => true);
  const before = await startWorkflows(t, { env, plugins: [away.plugin] });
  const run = await before.start(await before.publish(chain(ask)));
  const { total } = await before.get(`/v1/workflow-runs/${run.id}/events`);
  await until(() => away.refused > 0, 10_000);
  await before.stop();

  const back = sinkPlugin('receiver');
  const after = await startWorkflows(t, { env, plugins: [back.plugin] });
  await until(() => back.seqs(run.id).length === total, 20_000);
  await after.completeTask();
  await after.reaches(run.id, 'completed');
  const { total: all } = await after.get(`/v1/workflow-runs/${run.id}/events`);
  await until(() => back.seqs(run.id).length >= all, 10_000);
  t.deepEqual(back.seqs(run.id), counted(all));
});
