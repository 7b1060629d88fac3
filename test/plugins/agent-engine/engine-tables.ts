import type { ExecutionContext } from 'ava';
import type { Registration } from '../../../kernel/database/database.ts';
import { type Database, openDatabase } from '../../../kernel/database/database.ts';
import type { Ids } from '../../../kernel/services/ids.ts';
import { createIds } from '../../../kernel/services/ids.ts';
import { type ManualClock, manualClock } from '../../../kernel/testing/index.ts';
import type { FreshDatabase } from '../../support/databases.ts';

/** A database with some tables of the agent engine, and what its services are made of. */
export interface EngineTables {
  readonly database: Database;
  readonly clock: ManualClock;
  readonly ids: Ids;
}

/** Opens it; it is closed when the test ends. */
export async function engineTables(
  t: ExecutionContext,
  fresh: FreshDatabase,
  tables: Pick<Registration, 'entities' | 'migrations'>,
): Promise<EngineTables> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register({ owner: 'agent-engine', ...tables });
  const clock = manualClock(Date.UTC(2026, 2, 31, 23, 59, 59, 500));
  return { database, clock, ids: createIds(clock) };
}
