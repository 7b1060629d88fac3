import {
  ConfigurationError,
  type Database,
  lazy,
  messageOf,
  type RetainedRecords,
  type Scope,
} from 'agent-gateway';
import type { PreparedEngine, WorkflowEngines } from '../../workflow/contract.ts';
import type { ExecutionSettings } from '../config.ts';

/** Names the tables of jobs, wherever they are. */
export const ENGINE = 'execution';
/**
 * Milliseconds for which jobs in memory are kept after their end, unless a retention rule says otherwise: memory is
 * limited.
 */
const IN_MEMORY_MS = 24 * 3_600_000;

/** Where jobs are kept. */
export interface JobStorage {
  readonly prepared: PreparedEngine;
  /** Whether their tables are among those of the gateway's database; else they have a database of their own. */
  readonly isGateways: boolean;
  /** How long ended jobs are kept if no retention rule is set; undefined: forever. */
  readonly keptFor: RetainedRecords['keptFor'];
}

/**
 * Prepares the engine of jobs over the database that the settings choose. A database that may hold earlier jobs is
 * opened at once, so that they continue; one in memory is opened by the first request, so that it costs nothing while
 * no tenant has jobs.
 *
 * @throws ConfigurationError naming the variable that is wrong
 */
export async function openEngine(
  scope: Scope<ExecutionSettings>,
  engines: WorkflowEngines,
): Promise<JobStorage> {
  const { config, services } = scope;
  const { backend } = config;
  // SQLite's own name of a database in memory is that, and no file.
  const file = config.sqlite_db === ':memory:' ? undefined : config.sqlite_db;
  const isGateways = backend === 'postgres';
  if (isGateways && services.deployment.databaseFamily !== 'postgres') {
    throw wrong(
      'SVC_RUNTIME_BACKEND',
      'is postgres, but DATABASE_URL names no PostgreSQL: write DATABASE_URL=postgres://user:password@host:5432/database',
    );
  }
  const own = ownDatabase(scope, file);
  const prepared = engines.prepare(scope, {
    name: ENGINE,
    database: isGateways ? async () => services.database : own,
    endsOnFailure: true,
  });
  if (!isGateways && file !== undefined) {
    await own().catch((cause: unknown) => {
      throw wrong('SVC_SQLITE_DB', messageOf(cause));
    });
  }
  if (isGateways || file !== undefined) await prepared.open();
  const isInMemory = !isGateways && file === undefined;
  return { prepared, isGateways, keptFor: isInMemory ? IN_MEMORY_MS : undefined };
}

/** Opens the database of jobs once, and closes it with the plugin. */
function ownDatabase(scope: Scope, file: string | undefined): () => Promise<Database> {
  const own = lazy(() => {
    // Not at the start, which is the same for those that have no jobs.
    if (file === undefined && scope.services.deployment.databaseFamily !== 'sqlite')
      scope.log.warn(
        'jobs are in memory, where other replicas do not see them and a restart loses them: SVC_RUNTIME_BACKEND=postgres or SVC_SQLITE_DB says where to keep them',
      );
    return scope.services.openSqlite(file);
  });
  scope.defer(async () => {
    const database = await own.begun?.catch(() => undefined);
    await database?.close();
  });
  return own.get;
}

function wrong(name: string, message: string): ConfigurationError {
  return new ConfigurationError([{ name, message }]);
}
