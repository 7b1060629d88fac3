import type { ExecutionContext } from 'ava';
import type { RunState } from '../../../../plugins/workflow/services/core/state.ts';
import type { OutboxEntry, TakeRequest } from '../../../../plugins/workflow/store/outbox.ts';
import { createOutbox } from '../../../../plugins/workflow/store/outbox.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { READY } from '../../../../plugins/workflow/store/tables.ts';
import type { FreshDatabase } from '../../../support/databases.ts';
import { eventsOf, nextOf, runOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

/** Milliseconds that no test takes. */
export const LONG = 60_000;

/** An outbox over a database, with what fills it. */
export async function openOutbox(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const store = createRunStore(kit);
  const outbox = createOutbox(kit);
  const now = await kit.database.now();
  const start = async (count: number, { tenantId = TENANT, age = 0, sinks = ['hooks'] } = {}) => {
    const state = runOf({ tenantId, seq: count, updatedAt: now - age });
    await store.create({ state, events: eventsOf(1, count), sinks });
    return state;
  };
  const add = async (before: RunState, count: number, sinks = ['hooks']) => {
    const after = nextOf(before, { seq: before.seq + count, updatedAt: before.updatedAt });
    t.true(await store.commit({ before, after, events: eventsOf(before.seq + 1, count), sinks }));
    return after;
  };
  /** What is taken, by looks until one is through. */
  const take = async (request: Partial<TakeRequest> = {}) => {
    const limit = request.limit ?? 10;
    const entries: OutboxEntry[] = [];
    for (let hasMore = true; hasMore && entries.length < limit; ) {
      const taken = await outbox.take({
        room: () => 1_000,
        sink: 'hooks',
        claimMs: LONG,
        ...request,
        limit: limit - entries.length,
      });
      entries.push(...taken.entries);
      hasMore = taken.hasMore;
    }
    return entries;
  };
  /** How many rows are read by every look. */
  const ready = () => kit.database.forTenant(TENANT).count(kit.tables.outbox, { nextAt: READY });
  return { ...kit, store, outbox, start, add, now, take, ready };
}

/** What entries hold. */
export const ranges = (entries: readonly { runId: string; fromSeq: number; toSeq: number }[]) =>
  entries.map(({ runId, fromSeq, toSeq }) => [runId, fromSeq, toSeq]);
