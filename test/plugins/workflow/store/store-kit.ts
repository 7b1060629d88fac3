import type { ExecutionContext } from 'ava';
import { createIds } from '../../../../foundation/base/ids.ts';
import { type Database, openDatabase } from '../../../../foundation/data/database.ts';
import { storedEvent } from '../../../../plugins/workflow/store/event-rows.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { definitionTables, workflowTables } from '../../../../plugins/workflow/store/tables.ts';
import { manualClock } from '../../../../testing/index.ts';
import type { FreshDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import type { Subject } from './suite/subject.ts';

/** A database with the tables of an engine; it is closed when the test ends. */
export async function storeKit(t: ExecutionContext, fresh: FreshDatabase, name = 'workflow') {
  // SQLite has no clock of its own; servers have theirs, and do not look at this one.
  const clock = manualClock();
  const database = await openDatabase({ ...fresh.options, clock });
  t.teardown(() => database.close());
  const tables = await registered(database, name);
  const ids = createIds(clock);
  const definitions = definitionTables(name);
  await database.register({ owner: `${name}-definitions`, ...definitions });
  const eventually = (condition: () => Promise<boolean>) =>
    until(async () => {
      clock.advance(50);
      return condition();
    }, 10_000);
  return { database, tables, definitions, clock, ids, eventually };
}

/** The tables of a further engine over a database. */
export async function registered(database: Database, name: string) {
  const tables = workflowTables(name);
  await database.register({ owner: name, entities: tables.entities, migrations: tables.migrations });
  return tables;
}

/** A store over it, as the suite wants it. */
export async function databaseSubject(t: ExecutionContext, fresh: FreshDatabase): Promise<Subject> {
  const { database, tables, eventually } = await storeKit(t, fresh);
  return {
    store: createRunStore({ database, tables }),
    now: () => database.now(),
    eventually,
    async events({ tenantId, runId }) {
      const query = { orderBy: { seq: 'asc' }, limit: 10_000 } as const;
      const rows = await database.forTenant(tenantId).rows(tables.events, { runId }, query);
      return rows.map(storedEvent);
    },
  };
}
