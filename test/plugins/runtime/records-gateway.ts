import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Database } from '../../../foundation/data/database.ts';
import type { KernelServices } from '../../../kernel/api/services.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import {
  type PersonalData,
  type PersonalDataItem,
  PersonalDataPoint,
} from '../../../plugins/platform/contract.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

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
  exported(tenantId: string, userId?: string, name?: string): Promise<readonly PersonalDataItem[]>;
  erase(tenantId: string, userId?: string, name?: string): ReturnType<PersonalData['erase']>;
}

/** Starts it; it is stopped when the test ends. */
export async function startRecords(
  t: ExecutionContext,
  options: TestGatewayOptions = {},
): Promise<RecordsGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['helper', 'other']) await writeFile(path.join(folder, `${name}.yaml`), AGENT(name));
  let contributed: () => readonly PersonalData[] = () => [];
  let services: KernelServices | undefined;
  const reader = testPlugin('reader', {
    points: [PersonalDataPoint],
    setup(scope) {
      contributed = scope.contributions(PersonalDataPoint);
      services = scope.services;
    },
  });
  const gateway = await startTestGateway({
    ...options,
    env: { SVC_AGENTS_DIR: folder, ...options.env },
    plugins: [records, agentEngine, runtime, reader, ...(options.plugins ?? [])],
  });
  t.teardown(gateway.stop);
  const data = (wanted = 'runtime') => contributed().find(({ name }) => name === wanted)!;
  const { apiKeys } = gateway.gateway.services;
  return Object.assign(gateway, {
    database: services!.database,
    services: services!,
    key: async (tenantId: string, role = 'user') => {
      const wanted = { tenantId, name: 'key', roles: [role], scopes: [], expiresAt: null, createdBy: null };
      const { key: token, record } = await apiKeys.create(wanted);
      return { id: record.id, token };
    },
    exported: async (tenantId: string, userId?: string, name?: string) => {
      const items: PersonalDataItem[] = [];
      const { signal } = new AbortController();
      for await (const item of data(name).export({ tenantId, userId, signal })) items.push(item);
      return items;
    },
    erase: (tenantId: string, userId?: string, name?: string) =>
      services!.database
        .forTenant(tenantId)
        .transaction((entities) => data(name).erase(entities, { userId })),
  });
}
