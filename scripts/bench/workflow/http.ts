import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { startChild } from '../child.ts';
import { type Contender, type Shape, serve } from './contender.ts';
import { GRAPHS } from './graphs.ts';

/*
 * The whole gateway in a process of its own, called over HTTP: a run is one request that waits for its end.
 */

const TOKEN = 'acp_benchmark_token_of_one_run_only';
const here = path.dirname(fileURLToPath(import.meta.url));

await serve(async (): Promise<Contender> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'workflow-bench-'));
  const gateway = await startChild(path.join(here, '../../../kernel/main.js'), {
    NODE_ENV: 'production',
    SVC_HOST: '127.0.0.1',
    SAAS_API_PORT: '0',
    SVC_RUNTIME_ADDR: '127.0.0.1:0',
    HUB_ADDR: '127.0.0.1:0',
    SVC_GRPC_ADDR: '127.0.0.1:0',
    SVC_DATA_DIR: folder,
    SVC_CONFIG: path.join(folder, 'gateway.yaml'),
    SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
    SVC_PLUGIN_DIRS: path.join(here, 'plugins'),
    DATABASE_DRIVER: 'postgres',
    DATABASE_URL: process.env.BENCH_DATABASE_URL!,
    SVC_ACP_TOKEN: TOKEN,
  });

  async function call(method: 'POST' | 'PUT', where: string, body: object): Promise<Record<string, unknown>> {
    const answer = await request(`${gateway.url}${where}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const json = (await answer.body.json()) as Record<string, unknown>;
    if (answer.statusCode >= 300) throw new Error(`${where}: ${answer.statusCode} ${JSON.stringify(json)}`);
    return json;
  }

  const tenant = '00000000-0000-0000-0000-000000000001';
  await call('PUT', `/v1/tenants/${tenant}`, { rate_limit_rpm: 1_000_000 });
  const publish = async (shape: Shape) => {
    const definition = await call('POST', '/v1/workflow-definitions', {
      name: shape,
      graph: GRAPHS[shape],
    });
    await call('POST', `/v1/workflow-definitions/${definition.id}/publish`, {});
    return definition.id;
  };
  const definitions = { chain: await publish('chain'), fan: await publish('fan') };
  return {
    async run(shape) {
      const body = { definition_id: definitions[shape], input: { order: 1 } };
      const run = await call('POST', '/v1/workflow-runs?wait=30', body);
      if (run.status !== 'completed') throw new Error(`A run is ${run.status}`);
    },
    async close() {
      await gateway.stop();
      await rm(folder, { recursive: true });
    },
  };
});
