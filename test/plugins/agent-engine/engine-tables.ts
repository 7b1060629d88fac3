import type { ExecutionContext } from 'ava';
import type { Ids } from '../../../foundation/base/ids.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Registration } from '../../../foundation/data/database.ts';
import { type Database, openDatabase } from '../../../foundation/data/database.ts';
import { type ManualClock, manualClock } from '../../../testing/index.ts';
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
