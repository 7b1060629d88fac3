import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { request } from 'undici';
import { startChild } from '../child.ts';
import { gatewayEnvironment, TOKEN } from '../gateway.ts';

const TENANT = '00000000-0000-0000-0000-000000000001';

/** A whole gateway in a process of its own, over the benchmark's database. */
export interface BenchGateway {
  call(method: 'POST' | 'PUT', where: string, body: object): Promise<Record<string, unknown>>;
  /** Reads an event stream to its end. */
  read(where: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts it, without a rate limit.
 *
 * @param workflows texts of agents.d
 */
export async function startBenchGateway(
  env: Readonly<Record<string, string>> = {},
  workflows: readonly string[] = [],
): Promise<BenchGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), 'workflow-bench-'));
  const agents = path.join(folder, 'agents.d');
  await mkdir(agents);
  await writeFile(path.join(agents, 'workflows.yaml'), workflows.join('\n---\n'));
  const gateway = await startChild(path.join(import.meta.dirname, '../../../kernel/main.js'), {
    ...gatewayEnvironment(folder),
    SVC_AGENTS_DIR: agents,
    SVC_PLUGIN_DIRS: path.join(import.meta.dirname, 'plugins'),
    DATABASE_DRIVER: 'postgres',
    DATABASE_URL: process.env.BENCH_DATABASE_URL!,
    ...env,
  });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

  async function call(method: 'POST' | 'PUT', where: string, body: object): Promise<Record<string, unknown>> {
    const answer = await request(`${gateway.url}${where}`, { method, headers, body: JSON.stringify(body) });
    const json = (await answer.body.json()) as Record<string, unknown>;
    if (answer.statusCode >= 300) throw new Error(`${where}: ${answer.statusCode} ${JSON.stringify(json)}`);
    return json;
  }

  await call('PUT', `/v1/tenants/${TENANT}`, { rate_limit_rpm: 1_000_000 });
  return {
    call,
    read: async (where) => (await request(`${gateway.url}${where}`, { headers })).body.text(),
    async close() {
      await gateway.stop();
      await rm(folder, { recursive: true });
    },
  };
}
