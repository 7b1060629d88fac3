import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { definePlugin } from 'agent-gateway';
import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import { startGateway } from '../../../kernel/gateway.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { type WorkflowEngine, WorkflowEngineRef } from '../../../plugins/workflow/contract.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { gatewayEnvironment } from '../gateway.ts';
import { type Contender, type Shape, serve } from './contender.ts';
import { GRAPHS } from './graphs.ts';
import { fillHistory } from './history.ts';
import benchPlugin from './plugins/bench/plugin.ts';

/*
 * The engine inside a gateway, called as a plugin calls it.
 */

const TENANT = '00000000-0000-0000-0000-000000000001';

await serve(async (): Promise<Contender> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'workflow-bench-'));
  const env = {
    ...gatewayEnvironment(folder),
    SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
    DATABASE_DRIVER: 'postgres',
    DATABASE_URL: process.env.BENCH_DATABASE_URL!,
    LOG_LEVEL: 'error',
  };
  let engine: WorkflowEngine | undefined;
  const caller = definePlugin({
    name: 'caller',
    summary: 'Starts the runs of the benchmark',
    kernel: '^1.0.0',
    needs: { workflow: WorkflowEngineRef },
    setup: (_scope, needs) => {
      engine = needs.workflow;
    },
  });
  const gateway = await startGateway({
    settings: readKernelSettings(env),
    env,
    logging: createLogger({ level: 'error' }),
    acpToken: undefined,
    plugins: [records, agentEngine, workflow, benchPlugin, caller],
  });
  const runs = engine!;
  const version = async (shape: Shape) =>
    runs.ensureVersion({
      tenantId: TENANT,
      definitionId: shape,
      graph: GRAPHS[shape],
      publishedBy: 'bench',
    });
  const versions = { chain: await version('chain'), fan: await version('fan') };
  await fillHistory(process.env.BENCH_DATABASE_URL!, Number(process.env.BENCH_HISTORY ?? 0), async () => {
    const { run } = await runs.start(request('chain'));
    await settled(run.id);
    return run.id;
  });

  function request(shape: Shape) {
    return { tenantId: TENANT, version: versions[shape], input: { order: 1 }, startedBy: 'bench' };
  }

  async function settled(runId: string): Promise<void> {
    const place = { tenantId: TENANT, runId, timeoutMs: 30_000, signal: AbortSignal.timeout(30_000) };
    const { status } = await runs.settled(place);
    if (status !== 'completed') throw new Error(`A run is ${status}`);
  }

  return {
    async run(shape) {
      const { run } = await runs.start(request(shape));
      await settled(run.id);
    },
    async close() {
      await gateway.stop();
      await rm(folder, { recursive: true });
    },
  };
});
