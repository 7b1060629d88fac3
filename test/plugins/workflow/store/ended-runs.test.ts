import test from 'ava';
import { retainedWorkflows } from '../../../../plugins/workflow/store/ended-runs.ts';
import { createOutbox } from '../../../../plugins/workflow/store/outbox.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { eventsOf, runOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

eachDatabase(
  test,
  'a later sweep of events reads runs that ended since, and all of them once a day',
  async (t, fresh) => {
    const { database, tables } = await storeKit(t, fresh);
    const store = createRunStore({ database, tables });
    const end = async (startedAt: number, completedAt: number) => {
      const times = { startedAt: startedAt * HOUR_MS, completedAt: completedAt * HOUR_MS };
      const state = runOf({ ...times, status: 'completed', seq: 2 });
      await store.create({ state, events: eventsOf(1, 2), sinks: [] });
      return state.id;
    };
    let seen: string[] = [];
    const watched = (tenantId: string) => {
      const entities = database.forTenant(tenantId);
      return {
        erase: entities.erase.bind(entities),
        aggregate: entities.aggregate.bind(entities),
        rows: async (...query: Parameters<typeof entities.rows>) => {
          const rows = await entities.rows(...query);
          seen.push(...(rows as { id: string }[]).map(({ id }) => id));
          return rows;
        },
      };
    };
    const kinds = retainedWorkflows({ forTenant: watched, system: () => database.system() } as never, tables);
    const kind = kinds.find(({ name }) => name === 'workflow_events')!;
    const sweep = async (before: number) => {
      seen = [];
      let deleted = 0;
      for await (const batch of kind.deleteBefore(TENANT, new Date(before * HOUR_MS), never))
        deleted += batch;
      return deleted;
    };
    const old = [await end(1, 2), await end(5, 6)];
    t.is(await sweep(100), 4);
    t.deepEqual(seen.toSorted(), old.toSorted());

    const recent = await end(99, 101);
    const long = await end(3, 101);
    t.is(await sweep(102), 2);
    t.deepEqual(seen, [recent]);
    t.is(await sweep(123), 0);
    t.is(await sweep(124), 2, 'what ran for longer than a day');
    t.deepEqual(seen.toSorted(), [...old, recent, long].toSorted());
    t.is(await database.forTenant(TENANT).count(tables.events), 0);
  },
);

eachDatabase(
  test,
  'what a sink does not have yet is not deleted, however old, until the sink has it',
  async (t, fresh) => {
    const { database, tables, ids } = await storeKit(t, fresh);
    const outbox = createOutbox({ database, tables, ids });
    const ended = async (sinks: readonly string[]) => {
      const state = runOf({ status: 'completed', seq: 2, startedAt: HOUR_MS, completedAt: 2 * HOUR_MS });
      await createRunStore({ database, tables }).create({ state, events: eventsOf(1, 2), sinks });
      return state.id;
    };
    const waiting = await ended(['hooks']);
    await ended([]);
    const kinds = retainedWorkflows(database, tables);
    const sweep = async (name: string) => {
      const kind = kinds.find((one) => one.name === name)!;
      let deleted = 0;
      for await (const batch of kind.deleteBefore(TENANT, new Date(100 * HOUR_MS), never)) deleted += batch;
      return deleted;
    };
    const left = async () => {
      const query = { orderBy: { seq: 'asc' }, limit: 10 } as const;
      const rows = await database.forTenant(TENANT).rows(tables.events, {}, query);
      return rows.map(({ runId, seq }) => [runId, seq]);
    };
    t.is(await sweep('workflow_events'), 2);
    t.is(await sweep('workflow_runs'), 1);
    t.deepEqual(await left(), [
      [waiting, 1],
      [waiting, 2],
    ]);

    const { entries } = await outbox.take({ sink: 'hooks', limit: 1, claimMs: 60_000, room: () => 1 });
    t.is(await sweep('workflow_runs'), 0, 'while it is under way to the sink');
    await outbox.done(entries[0]!);
    t.is(await sweep('workflow_runs'), 1);
    t.deepEqual(await left(), []);
  },
);
