import test, { type ExecutionContext } from 'ava';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import { createChatExpiry } from '../../../../../plugins/runtime/services/v3-chat/chat-expiry.ts';
import { ChatEntity, type ChatRow } from '../../../../../plugins/runtime/store/chats.ts';
import { entities, migrations } from '../../../../../plugins/runtime/store/entities.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { eachDatabase, type FreshDatabase } from '../../../../support/databases.ts';

const TENANTS = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'] as const;
const DAY_MS = 86_400_000;
const forever = new AbortController().signal;

/** The tables of the runtime, and chats that began at times of a clock. */
async function openChats(t: ExecutionContext, fresh: FreshDatabase) {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register({ owner: 'runtime', entities, migrations });
  const clock = manualClock(Date.UTC(2026, 2, 31));
  const ids = createIds(clock);
  const rowOf = (createdAt: number): ChatRow => ({
    ...{ id: ids.uuid(), identityId: 'key', userId: 'ana', conversationId: 'c', botId: 'payer' },
    ...{ status: 'completed', metaData: '{}', result: '{}', messages: '[]' },
    ...{ createdAt: new Date(createdAt), completedAt: null },
  });
  return {
    database,
    clock,
    /** Keeps chats that began so many milliseconds ago. */
    begin: (tenantId: string, ago: number, count = 1) =>
      database.forTenant(tenantId).insertMany(
        ChatEntity,
        Array.from({ length: count }, () => ({ ...rowOf(clock.now() - ago) })),
      ),
    left: () => Promise.all(TENANTS.map((tenantId) => database.forTenant(tenantId).count(ChatEntity))),
  };
}

eachDatabase(test, 'chats of all tenants go after 30 days, however many they are', async (t, fresh) => {
  const { database, clock, begin, left } = await openChats(t, fresh);
  t.is(await database.schemaDrift(), '');
  const expire = createChatExpiry({ database, clock });
  await begin(TENANTS[0], 0, 450);
  await begin(TENANTS[1], 0, 3);
  await begin(TENANTS[1], -1);
  await clock.advance(30 * DAY_MS);
  await expire(forever);
  t.deepEqual(await left(), [450, 4], 'on the day itself they are there');
  await clock.advance(1);
  await expire(forever);
  t.deepEqual(await left(), [0, 1]);
});

eachDatabase(
  test,
  'replicas that clean up at the same time leave nothing, and one that stops leaves the rest',
  async (t, fresh) => {
    const { database, clock, begin, left } = await openChats(t, fresh);
    const expire = createChatExpiry({ database, clock });
    await begin(TENANTS[0], 31 * DAY_MS, 300);
    await begin(TENANTS[1], 32 * DAY_MS, 300);
    await expire(AbortSignal.abort());
    t.deepEqual(await left(), [300, 300]);
    const leave = new AbortController();
    let batches = 0;
    const watched = {
      system() {
        batches += 1;
        leave.abort();
        return database.system();
      },
    };
    await createChatExpiry({ database: watched, clock })(leave.signal);
    t.deepEqual([batches, await left()], [1, [300, 100]], 'the oldest first, a batch at a time');
    await Promise.all([expire(forever), expire(forever), expire(forever)]);
    t.deepEqual(await left(), [0, 0]);
  },
);
