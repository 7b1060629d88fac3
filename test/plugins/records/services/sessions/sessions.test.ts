import test from 'ava';
import type { TenantEntityManager } from '../../../../../kernel/index.ts';
import type { SessionReader } from '../../../../../plugins/records/contract.ts';
import { eachMessage, SessionMessageEntity } from '../../../../../plugins/records/store/sessions.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import {
  ALICE,
  BOB,
  OTHER_TENANT,
  outcome,
  TENANT,
  type TurnReplica,
  turnReplicas,
  wanted,
} from './turn-replicas.ts';

const ADMIN: SessionReader = { identityId: 'admin', isAdmin: true };
const PAGE = { limit: 50, offset: 0 };

async function talk({ turns }: TurnReplica, sessionId: string, principal = ALICE): Promise<void> {
  await using turn = await turns.begin(wanted({ sessionId, principal }));
  await turn.commit(outcome());
}

for (const family of ['sqlite', 'postgres', 'mysql'] as const) {
  test(`${family}: sessions are listed to those who may see them, the last used first`, async (t) => {
    const opened = await turnReplicas(t, family);
    if (opened === undefined) return;
    const replica = opened.replicas[0]!;
    const { sessions, database } = replica;
    await talk(replica, 'a1');
    await talk(replica, 'b1', BOB);
    await talk(replica, 'a2');
    await talk(replica, 'c1', { ...ALICE, identityId: 'key-2', userId: 'key-2' });
    await talk(replica, 'x1', { ...ALICE, tenantId: OTHER_TENANT });
    await talk(replica, 'a1');
    const seen = async (reader: SessionReader, userId?: string, page = PAGE) => {
      const list = await sessions.list(database.forTenant(TENANT), reader, { userId }, page);
      return [list.total, ...list.sessions.map(({ id }) => id)];
    };
    const key = { identityId: 'key-1', isAdmin: false };
    t.deepEqual(await seen(ADMIN), [4, 'a1', 'c1', 'a2', 'b1']);
    t.deepEqual(await seen(ADMIN, 'alice'), [2, 'a1', 'a2']);
    t.deepEqual(await seen(ADMIN, undefined, { limit: 2, offset: 1 }), [4, 'c1', 'a2']);
    t.deepEqual(await seen(ADMIN, undefined, { limit: 0, offset: 0 }), [4]);
    t.deepEqual(await seen(key), [3, 'a1', 'a2', 'b1']);
    t.deepEqual(await seen(key, 'bob'), [1, 'b1']);
    t.deepEqual(await seen({ ...key, userId: 'bob' }), [1, 'b1']);
    t.deepEqual(await seen({ ...key, userId: 'bob' }, 'bob'), [1, 'b1']);
    t.deepEqual(await seen({ ...key, userId: 'bob' }, 'alice'), [0]);
    t.deepEqual(await seen({ identityId: 'key-2', isAdmin: false }), [1, 'c1']);
    t.deepEqual(await seen({ identityId: 'nobody', isAdmin: false }), [0]);
    t.deepEqual(await seen(ADMIN, 'x\0\ud800'), [0]);
  });

  test(`${family}: messages come in pages from the end, oldest first`, async (t) => {
    const opened = await turnReplicas(t, family);
    if (opened === undefined) return;
    const replica = opened.replicas[0]!;
    for (let turn = 0; turn < 3; turn += 1) await talk(replica, 's');
    await talk(replica, 'other');
    const seen = async (page: { limit: number; before?: number }) => {
      const { messages, total } = await replica.sessions.messages(
        replica.database.forTenant(TENANT),
        's',
        page,
      );
      return [total, ...messages.map(({ seq }) => seq)];
    };
    t.deepEqual(await seen({ limit: 100 }), [6, 1, 2, 3, 4, 5, 6]);
    t.deepEqual(await seen({ limit: 4 }), [6, 3, 4, 5, 6]);
    t.deepEqual(await seen({ limit: 4, before: 3 }), [6, 1, 2]);
    t.deepEqual(await seen({ limit: 4, before: 1 }), [6]);
    t.deepEqual(await seen({ limit: 4, before: 99 }), [6, 3, 4, 5, 6]);
  });

  test(`${family}: no more messages are read at one time than fit into memory`, async (t) => {
    const opened = await turnReplicas(t, family);
    if (opened === undefined) return;
    const replica = opened.replicas[0]!;
    const entities = replica.database.forTenant(TENANT);
    for (let turn = 0; turn < 3; turn += 1) await talk(replica, 's');
    const mebibytes = { 1: 20, 2: 9, 3: 9, 6: 9 };
    for (const [seq, size] of Object.entries(mebibytes)) {
      const place = { sessionId: 's', seq: Number(seq) };
      await entities.update(SessionMessageEntity, place, { bytes: size * 1024 * 1024 });
    }
    const seen = async (page: { limit: number; before?: number }) =>
      (await replica.sessions.messages(entities, 's', page)).messages.map(({ seq }) => seq);
    t.deepEqual(await seen({ limit: 100 }), [4, 5, 6]);
    t.deepEqual(await seen({ limit: 100, before: 4 }), [3]);
    t.deepEqual(await seen({ limit: 100, before: 2 }), [1]);
    const read: number[][] = [];
    const rows: TenantEntityManager['rows'] = async (entity, where, query) => {
      const found = await entities.rows(entity, where, query);
      const messages = found as readonly { readonly seq?: number; readonly message?: string }[];
      if (messages[0]?.message !== undefined) read.push(messages.map(({ seq }) => seq!));
      return found;
    };
    const all: number[] = [];
    for await (const { seq } of eachMessage({ rows }, 's')) all.push(seq);
    t.deepEqual(read, [[1], [2], [3], [4, 5], [6]]);
    t.deepEqual(all, [1, 2, 3, 4, 5, 6]);
  });

  test(`${family}: a session is deleted with its messages, but not while a turn is in flight`, async (t) => {
    const opened = await turnReplicas(t, family, 2);
    if (opened === undefined) return;
    const [one, two] = opened.replicas as [TurnReplica, TurnReplica];
    const { sessions, database } = two;
    const entities = () => database.forTenant(TENANT);
    await talk(one, 's');
    await talk(one, 'kept');
    await talk(one, 's', { ...ALICE, tenantId: OTHER_TENANT });
    const bob = { identityId: 'key-1', userId: 'bob', isAdmin: false };
    await t.throwsAsync(sessions.remove(entities(), bob, 's'), { code: 'session.forbidden' });
    {
      await using turn = await one.turns.begin(wanted({ sessionId: 's' }));
      await t.throwsAsync(sessions.remove(entities(), ADMIN, 's'), { code: 'session.busy' });
      await turn.commit(outcome());
    }
    {
      await using first = await one.turns.begin(wanted());
      // Nothing of it is stored yet.
      await t.throwsAsync(sessions.remove(entities(), ADMIN, first.sessionId), { code: 'session.busy' });
      await first.commit(outcome());
      await t.throwsAsync(sessions.remove(entities(), ADMIN, first.sessionId), { code: 'session.busy' });
    }
    await sessions.remove(entities(), { identityId: 'key-1', isAdmin: false }, 's');
    await t.throwsAsync(sessions.get(entities(), ADMIN, 's'), { code: 'session.not-found' });
    t.is((await sessions.messages(entities(), 's', { limit: 9 })).total, 0);
    t.is((await sessions.messages(entities(), 'kept', { limit: 9 })).total, 2);
    t.is((await sessions.messages(database.forTenant(OTHER_TENANT), 's', { limit: 9 })).total, 2);
    for (const id of ['s', 'a b'])
      await t.throwsAsync(sessions.remove(entities(), ADMIN, id), { code: 'session.not-found' });
    await talk(one, 's');
    t.is((await sessions.get(entities(), ADMIN, 's')).turns, 1);
  });
}

eachDatabase(test, 'the migration makes the tables of the entities', async (t, fresh) => {
  const { family } = fresh;
  const opened = await turnReplicas(t, family);
  t.is(await opened!.replicas[0]!.database.schemaDrift(), '');
});

test('a session is there for its owner and for administrators of its tenant alone', async (t) => {
  const replica = (await turnReplicas(t, 'sqlite'))!.replicas[0]!;
  const { sessions, database } = replica;
  await talk(replica, 's');
  const entities = database.forTenant(TENANT);
  const CASES: readonly [SessionReader, string | undefined][] = [
    [ADMIN, undefined],
    [{ ...ADMIN, userId: 'bob' }, undefined],
    [{ identityId: 'key-1', isAdmin: false }, undefined],
    [{ identityId: 'key-1', userId: 'alice', isAdmin: false }, undefined],
    [{ identityId: 'key-1', userId: 'bob', isAdmin: false }, 'session.forbidden'],
    [{ identityId: 'key-2', userId: 'alice', isAdmin: false }, 'session.forbidden'],
  ];
  for (const [reader, code] of CASES) {
    const found = sessions.get(entities, reader, 's');
    if (code === undefined) t.is((await found).id, 's', JSON.stringify(reader));
    else await t.throwsAsync(found, { code }, JSON.stringify(reader));
  }
  await t.throwsAsync(sessions.get(database.forTenant(OTHER_TENANT), ADMIN, 's'), {
    code: 'session.not-found',
  });
  for (const id of ['', 'no/id', 'x\0', 'x'.repeat(1_000_000)]) {
    await t.throwsAsync(sessions.get(entities, ADMIN, id), { code: 'session.not-found' });
  }
});
