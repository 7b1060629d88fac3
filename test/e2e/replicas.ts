import type { ExecutionContext } from 'ava';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
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
    const start = () => startPlatform(t, { env: { ...env, ...environment } });
    return Promise.all([start(), start()]);
  }
  const own = { ...env, DATABASE_URL: `sqlite:${environment.SVC_DATA_DIR}/gateway.db` };
  return Promise.all([
    startPlatform(t, { env: own }),
    startGatewayProcess(t, await temporaryFolder(t), { ...FEW_PLUGINS, ...own }),
  ]);
}
