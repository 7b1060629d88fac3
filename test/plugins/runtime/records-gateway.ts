import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Database } from '../../../foundation/data/database.ts';
import type { KernelServices } from '../../../kernel/api/services.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { type Exported, eraseFrom, exportedBy, readerPlugin } from '../../support/personal-data.ts';
import type { Lifetime } from '../../support/shared.ts';

const AGENT = (name: string) => `apiVersion: svc/v1
kind: Agent
metadata: {name: ${name}}
spec: {type: chat_model_agent, model: {primary: demo}, system_prompt: Help.}
`;

/** A gateway with the runtime and the agents `helper` and `other`. */
export interface RecordsGateway extends TestGateway {
  readonly database: Database;
  readonly services: KernelServices;
  /** A key of a tenant with one role. */
  key(tenantId: string, role?: string): Promise<{ readonly id: string; readonly token: string }>;
  /** What the runtime exports, by the name of the contribution. */
  exported(tenantId: string, userId?: string, name?: string): Promise<readonly Exported[]>;
  erase(tenantId: string, userId?: string, name?: string): ReturnType<typeof eraseFrom>;
}

/** Starts it; it is stopped when the test ends, or the file. */
export async function startRecords(t: Lifetime, options: TestGatewayOptions = {}): Promise<RecordsGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['helper', 'other']) await writeFile(path.join(folder, `${name}.yaml`), AGENT(name));
  const reader = readerPlugin();
  const gateway = await startTestGateway({
    ...options,
    env: { SVC_AGENTS_DIR: folder, ...options.env },
    plugins: [records, agentEngine, runtime, reader.plugin, ...(options.plugins ?? [])],
  });
  t.teardown(gateway.stop);
  const { services } = gateway.gateway;
  const { apiKeys, database } = services;
  return Object.assign(gateway, {
    database,
    services,
    key: async (tenantId: string, role = 'user') => {
      const wanted = { tenantId, name: 'key', roles: [role], scopes: [], expiresAt: null, createdBy: null };
      const { key: token, record } = await apiKeys.create(wanted);
      return { id: record.id, token };
    },
    exported: (tenantId: string, userId?: string, name = 'runtime') =>
      exportedBy(reader.contribution(name), { tenantId, userId }),
    erase: (tenantId: string, userId?: string, name = 'runtime') =>
      eraseFrom(database, reader.contribution(name), { tenantId, userId }),
  });
}
