import test from 'ava';
import evolution from '../../../plugins/evolution/plugin.ts';
import { featuresOf } from '../../../plugins/evolution/rules/features.ts';
import { GeneTable, TaskTable } from '../../../plugins/evolution/store/tables.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { sampledGatewayDatabase } from '../../support/databases.ts';
import { startGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';

const ROUNDS = 30;
const RUNS = 40;

sampledGatewayDatabase(
  test,
  'of two replicas that distil one is killed, and each run counts once',
  async (t, fresh) => {
    t.timeout(180_000);
    const gateway = await startTestGateway({ plugins: [evolution], env: fresh.environment });
    t.teardown(gateway.stop);
    const { database, ids } = gateway.gateway.services;
    const entities = database.forTenant((await gateway.makeTenant()).id);
    const env = {
      ...fresh.environment,
      SVC_PLUGINS: 'evolution',
      EVOLUTION_ENABLED: 'true',
      EVOLUTION_DISTILL_INTERVAL: '100ms',
    };
    const [victim] = await Promise.all([
      startGatewayProcess(t, await temporaryFolder(t), env),
      startGatewayProcess(t, await temporaryFolder(t), env),
    ]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const runs = Array.from({ length: RUNS }, (_, n) => ({
        id: ids.uuid(),
        agentName: `agent${n % 4}`,
        taskClass: 'sums',
        features: featuresOf('add numbers'),
        components: { 'builtin/calculator': 1 } as const,
        session: `s${n}`,
        arm: 'none' as const,
        advised: [],
        outcome: true,
        isCounted: false,
        createdAt: new Date(),
      }));
      await entities.insertMany(TaskTable, runs);
      if (round === ROUNDS / 2) victim.kill('SIGKILL');
    }
    await until(async () => (await entities.count(TaskTable, { isCounted: false })) === 0, 90_000);
    const genes = await entities.rows(GeneTable, {}, { fields: ['useCount', 'successCount'], limit: 9 });
    const each = { useCount: (ROUNDS * RUNS) / 4, successCount: (ROUNDS * RUNS) / 4 };
    t.deepEqual(genes, [each, each, each, each]);
  },
);
