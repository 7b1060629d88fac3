import type { ExecutionContext } from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import type { FreshDatabase } from '../support/databases.ts';
import { FEW_PLUGINS, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import type { PlainRequest, PlainResponse } from '../support/request.ts';

/** What a client sees of a replica. */
export interface Replica {
  readonly url: string;
  request(path: string, request?: PlainRequest): Promise<PlainResponse>;
}

/**
 * Starts two replicas at once on one empty database. On a SQLite file one of them is a process: within one process they
 * would share the file's locks.
 */
export async function startReplicas(
  t: ExecutionContext,
  { family, environment }: FreshDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly [Replica, Replica]> {
  if (family !== 'sqlite') {
    const start = async () => startedGateway(t, { ...env, ...environment });
    return Promise.all([start(), start()]);
  }
  const own = { ...env, DATABASE_URL: `sqlite:${environment.SVC_DATA_DIR}/gateway.db` };
  return Promise.all([
    startedGateway(t, own),
    startGatewayProcess(t, await temporaryFolder(t), { ...FEW_PLUGINS, ...own }),
  ]);
}

async function startedGateway(
  t: ExecutionContext,
  env: Readonly<Record<string, string>>,
): Promise<TestGateway> {
  const gateway = await startTestGateway({ env });
  t.teardown(gateway.stop);
  return gateway;
}
