import test from 'ava';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import type { PricedUse } from '../../../../../plugins/records/contract.ts';
import { createPersonalData } from '../../../../../plugins/records/services/data-protection/personal-data.ts';
import { createMetering } from '../../../../../plugins/records/services/metering/metering.ts';
import { createReceipts } from '../../../../../plugins/records/services/receipts.ts';
import { entities } from '../../../../../plugins/records/store/entities.ts';
import { migrations } from '../../../../../plugins/records/store/migrations.ts';
import { fakeIds, manualClock } from '../../../../../testing/index.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { exportedBy } from '../../../../support/personal-data.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
const AT = new Date(Date.UTC(2026, 2, 31, 12));
const SPAN = { requestId: 'r1', traceId: 'ab'.repeat(16), startedAt: AT, durationMs: 40 } as const;
const USE: PricedUse = {
  model: 'fast',
  provider: 'openai',
  providerModel: 'gpt-x',
  isEstimated: false,
  costUsd: '0',
  inputTokens: 1,
  outputTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

eachDatabase(
  test,
  'an export says when and for which request models and tools were called',
  async (t, fresh) => {
    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    await database.register({ owner: 'records', entities, migrations });
    const clock = manualClock(AT.getTime());
    const ids = fakeIds();
    const own = database.forTenant(TENANT);
    const metering = createMetering({ pricing: { prices: () => new Map() }, clock, ids });
    const owner = {
      principal: { tenantId: TENANT, identityId: 'k', userId: 'ana' },
      source: 'agent',
    } as const;
    await metering.record(own, owner, [{ ...USE, span: { ...SPAN, status: 'success' } }]);
    await createReceipts({ clock, ids }).submit(own, {
      sessionId: '',
      userId: 'ana',
      toolName: 'f',
      input: '{}',
      output: '1',
      status: 'success',
      idempotencyId: null,
      ...SPAN,
    });
    const absent = {} as never;
    const data = createPersonalData({
      database,
      clock,
      ids,
      objects: { available: false },
      leases: absent,
      jobs: absent,
      durableEvents: absent,
      skills: absent,
      souls: absent,
      sessionData: () => [],
    });
    const exported = await exportedBy(
      data,
      { tenantId: TENANT, userId: 'ana' },
      new AbortController().signal,
    );
    t.deepEqual(exported.map(({ section }) => section).toSorted(), ['execution_receipts', 'usage_records']);
    for (const { record } of exported) {
      const { request_id, trace_id, started_at, duration_ms, status } = record;
      t.deepEqual(
        { request_id, trace_id, duration_ms, status },
        {
          request_id: 'r1',
          trace_id: SPAN.traceId,
          duration_ms: 40,
          status: 'success',
        },
      );
      t.is(new Date(started_at).getTime(), AT.getTime());
    }
  },
);
