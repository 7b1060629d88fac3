import test from 'ava';
import type { Database } from '../../../foundation/data/database.ts';
import { ApiKey } from '../../../foundation/tables/api-key.ts';
import { createLastUsed } from '../../../foundation/tables/api-key-use.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { openKernelDatabase } from '../../kernel/tenancy/open-kernel-database.ts';
import { eachDatabase } from '../../support/databases.ts';

const id = (index: number) => `0198c0de-0000-7000-8000-${String(index).padStart(12, '0')}`;

async function insertKeys(database: Database, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: id(index),
    tenantId: 't',
    name: 'key',
    prefix: 'hk_xxxxx',
    hash: String(index),
    roles: [],
    scopes: [],
    createdAt: new Date(0),
  }));
  await database.system().insertMany(ApiKey, rows);
}

async function lastUsed(database: Database, index = 0): Promise<number | undefined> {
  const row = await database.system().findOneOrFail(ApiKey, { id: id(index) });
  return row.lastUsedAt?.getTime();
}

const onError = () => {};

eachDatabase(
  test,
  'the use of a key is written once a minute, by all replicas together',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    await insertKeys(database, 2);
    const clock = manualClock();
    const one = createLastUsed({ database, clock, onError });
    const two = createLastUsed({ database, clock, onError });
    const start = clock.now();
    one.touch(id(0));
    t.is(await lastUsed(database), undefined, 'nothing is written on the request path');
    await one.flush();
    t.is(await lastUsed(database), start);
    clock.advance(59_999);
    for (const replica of [one, two]) {
      replica.touch(id(0));
      await replica.flush();
    }
    t.is(await lastUsed(database), start);
    clock.advance(1);
    one.touch(id(0));
    await one.close();
    t.is(await lastUsed(database), start + 60_000);
    t.is(await lastUsed(database, 1), undefined);
    await two.close();
  },
);

eachDatabase(test, 'many keys are written in few statements', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  await insertKeys(database, 1100);
  const clock = manualClock();
  const notes = createLastUsed({ database, clock, onError });
  for (let index = 0; index < 1100; index += 1) notes.touch(id(index));
  await notes.close();
  t.is(await database.system().count(ApiKey, { lastUsedAt: new Date(clock.now()) }), 1100);
});

/** A database whose writes the test fails. */
function fakeDatabase() {
  const state = { isAway: false, batches: [] as string[][] };
  const nativeUpdate = async (_entity: unknown, where: { id: { $in: string[] } }) => {
    if (state.isAway) throw new Error('away');
    state.batches.push(where.id.$in);
  };
  return { state, database: { system: () => ({ nativeUpdate }) } as never };
}

test('what could not be written is written at the next attempt', async (t) => {
  const { state, database } = fakeDatabase();
  const notes = createLastUsed({ database, clock: manualClock(), onError });
  state.isAway = true;
  notes.touch('a');
  await t.throwsAsync(notes.flush(), { message: 'away' });
  state.isAway = false;
  await notes.close();
  t.deepEqual(state.batches, [['a']]);
});

test('no more notes wait than the bound, and a key that found no place is noted later', async (t) => {
  const { state, database } = fakeDatabase();
  const notes = createLastUsed({ database, clock: manualClock(), onError });
  for (let index = 0; index <= 10_000; index += 1) notes.touch(`key-${index}`);
  await notes.flush();
  t.is(state.batches.flat().length, 10_000);
  notes.touch('key-10000');
  await notes.close();
  t.is(state.batches.flat().length, 10_001);
});
