import test, { type ExecutionContext } from 'ava';
import { writes } from '../../../../../foundation/data/database.ts';
import { eachMessage, findSession, Session } from '../../../../../plugins/records/store/sessions.ts';
import { until } from '../../../../support/until.ts';
import {
  ALICE,
  BOB,
  DEPLOYMENTS,
  OTHER_TENANT,
  outcome,
  TENANT,
  type TurnReplica,
  turnReplicas,
  use,
  wanted,
} from './turn-replicas.ts';

const ADMIN = { identityId: 'admin', isAdmin: true };
const PATIENT = 20_000;

/** One test for each way in which replicas share their state; on SQLite there is one process. */
function eachDeployment(
  title: string,
  run: (t: ExecutionContext, replicas: readonly [TurnReplica, TurnReplica]) => Promise<void>,
): void {
  for (const deployment of DEPLOYMENTS) {
    test(`${deployment}: ${title}`, async (t) => {
      const opened = await turnReplicas(t, deployment, 2);
      if (opened !== undefined) await run(t, [opened.replicas[0]!, opened.replicas[1]!]);
    });
  }
}

const stored = async ({ database, sessions }: TurnReplica, id: string) => {
  const entities = database.forTenant(TENANT);
  const session = await sessions.get(entities, ADMIN, id);
  const { messages, total } = await sessions.messages(entities, id, { limit: 1_000 });
  return { session, messages, total };
};

eachDeployment('a turn stores session, messages, counters and usage', async (t, [one, two]) => {
  const at = Date.now();
  let id: string;
  {
    await using turn = await one.turns.begin(wanted());
    id = turn.sessionId;
    t.true(turn.isNew);
    t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    t.deepEqual(await turn.history(1_000), []);
    await turn.commit(outcome());
    t.false(turn.signal.aborted);
  }
  const { session, messages, total } = await stored(two, id);
  const { createdAt, updatedAt, ...rest } = session;
  t.deepEqual(rest, {
    id,
    tenantId: TENANT,
    identityId: 'key-1',
    userId: 'alice',
    model: 'demo',
    turns: 1,
    inputTokens: 10,
    outputTokens: 5,
  });
  t.deepEqual(createdAt, updatedAt);
  t.true(createdAt.getTime() >= at - 1 && createdAt.getTime() <= Date.now());
  t.deepEqual(
    messages.map(({ seq, message, tokenCount }) => ({ seq, message, tokenCount })),
    [
      { seq: 1, message: { role: 'user', content: 'Hello?' }, tokenCount: 6 },
      { seq: 2, message: { role: 'assistant', content: 'Hello!' }, tokenCount: 5 },
    ],
  );
  t.is(total, 2);
  t.deepEqual(one.recorded, [
    { owner: { principal: ALICE, sessionId: id, source: 'chat' }, uses: [use(10, 5)] },
  ]);

  await using next = await two.turns.begin(wanted({ sessionId: id }));
  t.false(next.isNew);
  t.deepEqual(await next.history(1_000), outcome().messages);
  await next.commit(outcome('And?', 'So.', { model: 'other', uses: [use(1, 2), use(3, 4)] }));
  const after = await stored(one, id);
  t.like(after.session, { turns: 2, inputTokens: 14, outputTokens: 11, model: 'other', createdAt });
  t.deepEqual(
    after.messages.map(({ seq }) => seq),
    [1, 2, 3, 4],
  );
});

eachDeployment(
  'ten turns at once in one session of two processes come one after the other',
  async (t, replicas) => {
    let inside = 0;
    let most = 0;
    const starts = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const { turns } = replicas[index % 2 === 0 ? 0 : 1];
        await using turn = await turns.begin(wanted({ sessionId: 'one.session' }));
        inside += 1;
        most = Math.max(most, inside);
        const history = await turn.history(100_000);
        inside -= 1;
        await turn.commit(outcome(`question ${index}`, `answer ${index}`, { uses: [use(10 + index, 1)] }));
        return history.length;
      }),
    );
    t.is(most, 1);
    t.deepEqual(
      starts.toSorted((a, b) => a - b),
      [0, 2, 4, 6, 8, 10, 12, 14, 16, 18],
    );
    const { session, messages } = await stored(replicas[0], 'one.session');
    t.like(session, { turns: 10, inputTokens: 145, outputTokens: 10 });
    t.deepEqual(
      messages.map(({ seq }) => seq),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    for (let turn = 0; turn < 10; turn += 1) {
      const [question, answer] = messages
        .slice(2 * turn, 2 * turn + 2)
        .map(({ message }) => `${message.content}`);
      t.is(answer, question!.replace('question', 'answer'));
    }
  },
);

eachDeployment(
  'of fifty sessions that begin at once exactly so many run as the tenant may have',
  async (t, replicas) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        replicas[index % 2 === 0 ? 0 : 1].turns.begin(wanted({ maxSessions: 10 })),
      ),
    );
    const begun = outcomes.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const refused = outcomes.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    t.is(begun.length, 10);
    t.true(
      refused.every(({ code, extras }) => code === 'session.limit' && extras.headers['retry-after'] === '1'),
    );
    const foreign = { ...ALICE, tenantId: OTHER_TENANT };
    await using other = await replicas[0].turns.begin(wanted({ principal: foreign, maxSessions: 1 }));
    t.true(other.isNew, 'another tenant has places of its own');
    await begun[0]![Symbol.asyncDispose]();
    await using next = await replicas[1].turns.begin(wanted({ maxSessions: 10 }));
    t.true(next.isNew);
    for (const turn of begun) await turn[Symbol.asyncDispose]();
  },
);

eachDeployment(
  'of a turn that is not committed nothing stays, and its session is free',
  async (t, [one, two]) => {
    const turn = await one.turns.begin(wanted({ sessionId: 'gone', maxSessions: 1 }));
    await turn[Symbol.asyncDispose]();
    await t.throwsAsync(turn.commit(outcome()), { message: /committed once/ });
    await using next = await two.turns.begin(wanted({ sessionId: 'gone', maxSessions: 1 }));
    t.true(next.isNew);
    t.is(
      (await two.sessions.list(two.database.forTenant(TENANT), ADMIN, {}, { limit: 9, offset: 0 })).total,
      0,
    );
  },
);

eachDeployment('a commit that fails at its end leaves nothing behind', async (t, [one, two]) => {
  const also = [writes.update(Session, { id: 'of nobody' }, { turns: 2 }, { expect: 1 })];
  {
    await using turn = await one.turns.begin(wanted({ sessionId: 's' }));
    await t.throwsAsync(turn.commit(outcome('a', 'b', { also })), { code: 'session.conflict' });
    await t.throwsAsync(turn.commit(outcome()), { message: /committed once/ });
  }
  await t.throwsAsync(stored(two, 's'), { code: 'session.not-found' });
  t.is((await two.sessions.messages(two.database.forTenant(TENANT), 's', { limit: 9 })).total, 0);
  await using turn = await two.turns.begin(wanted({ sessionId: 's' }));
  await turn.commit(outcome());
  await using failing = await one.turns.begin(wanted());
  await t.throwsAsync(failing.commit(outcome('a', 'b', { also })), { code: 'session.conflict' });
  const { session, total } = await stored(two, 's');
  t.deepEqual([session.turns, session.inputTokens, total], [1, 10, 2]);
});

eachDeployment('a turn that another one overtook is refused as a whole', async (t, [one, two]) => {
  await using first = await one.turns.begin(wanted({ sessionId: 's' }));
  await using turn = await one.turns.begin(wanted());
  await turn.commit(outcome());
  // As after a lock that was lost unnoticed: the session is there already, and has a turn more.
  await two.database.forTenant(TENANT).transaction(async (entities) => {
    const row = await findSession(entities, turn.sessionId);
    await entities.insert(Session, { ...row!, id: 's' });
  });
  await t.throwsAsync(first.commit(outcome()), { code: 'session.conflict' });
  t.is((await two.sessions.messages(two.database.forTenant(TENANT), 's', { limit: 9 })).total, 0);
});

eachDeployment('a turn is aborted from another process, and stores nothing', async (t, [one, two]) => {
  const entities = () => two.database.forTenant(TENANT);
  await using turn = await one.turns.begin(wanted());
  const { sessionId } = turn;
  const stranger = { identityId: 'key-2', isAdmin: false };
  await t.throwsAsync(two.turns.abort(entities(), stranger, sessionId), { code: 'session.forbidden' });
  const bob = { identityId: 'key-1', userId: 'bob', isAdmin: false };
  await t.throwsAsync(two.turns.abort(entities(), bob, sessionId), { code: 'session.forbidden' });
  t.false(await two.turns.abort(two.database.forTenant(OTHER_TENANT), ADMIN, sessionId));
  t.false(turn.signal.aborted);
  t.true(await two.turns.abort(entities(), { identityId: 'key-1', isAdmin: false }, sessionId));
  await until(() => turn.signal.aborted, PATIENT);
  t.is(turn.signal.reason.code, 'chat.aborted');
  await t.throwsAsync(turn.commit(outcome()), { code: 'chat.aborted' });
  await turn[Symbol.asyncDispose]();
  t.false(await two.turns.abort(entities(), ADMIN, sessionId));
  t.is((await two.sessions.list(entities(), ADMIN, {}, { limit: 9, offset: 0 })).total, 0);
});

test('whoever may not see a stored session may not abort it, in flight or not', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns, database } = replica!;
  const entities = database.forTenant(TENANT);
  const bob = { identityId: 'key-1', userId: 'bob', isAdmin: false };
  await using turn = await turns.begin(wanted({ sessionId: 's' }));
  await turn.commit(outcome());
  await turn[Symbol.asyncDispose]();
  await t.throwsAsync(turns.abort(entities, bob, 's'), { code: 'session.forbidden' });
  t.false(await turns.abort(entities, { identityId: 'key-1', userId: 'alice', isAdmin: false }, 's'));
  await using next = await turns.begin(wanted({ sessionId: 's' }));
  t.true(await turns.abort(entities, { identityId: 'key-1', userId: 'alice', isAdmin: false }, 's'));
  t.is(next.signal.reason.code, 'chat.aborted');
  t.false(await turns.abort(entities, ADMIN, 'no such id: /'));
});

test('a session belongs to its identity and user; an administrator may go on with it', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns } = replica!;
  {
    await using turn = await turns.begin(wanted({ sessionId: 's' }));
    await turn.commit(outcome());
  }
  const stranger = { ...ALICE, identityId: 'key-2' };
  for (const principal of [BOB, stranger]) {
    await t.throwsAsync(turns.begin(wanted({ principal, sessionId: 's', maxSessions: 1 })), {
      code: 'session.forbidden',
    });
  }
  const foreign = { ...ALICE, tenantId: OTHER_TENANT };
  {
    await using turn = await turns.begin(wanted({ principal: foreign, sessionId: 's' }));
    t.true(turn.isNew, 'the id is free in another tenant');
    await turn.commit(outcome());
  }
  await using turn = await turns.begin(
    wanted({ principal: stranger, isAdmin: true, sessionId: 's', maxSessions: 1 }),
  );
  await turn.commit(outcome());
  const { session } = await stored(replica!, 's');
  t.like(session, { turns: 2, identityId: 'key-1', userId: 'alice' });
});

test('a malformed id is refused before anything is taken', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  for (const sessionId of ['', 'a b', 'a/b', 'ä', 'x'.repeat(129), 'a\n', 'x'.repeat(1_000_000)]) {
    await t.throwsAsync(replica!.turns.begin(wanted({ sessionId })), { code: 'session.invalid-id' });
  }
  for (const sessionId of ['.', '..', 'A-z_0.9', 'x'.repeat(128)]) {
    await using turn = await replica!.turns.begin(wanted({ sessionId, maxSessions: 1 }));
    await turn.commit(outcome());
    t.is((await stored(replica!, sessionId)).session.turns, 1);
  }
});

test('the first turn of a session, whose id the client knows already, is waited for', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns } = replica!;
  const first = await turns.begin(wanted());
  const waiting = turns.begin(wanted({ sessionId: first.sessionId }));
  t.is(
    await Promise.race([waiting.then(() => 'begun'), new Promise((done) => setTimeout(done, 100, 'waits'))]),
    'waits',
  );
  await first.commit(outcome());
  await first[Symbol.asyncDispose]();
  await using next = await waiting;
  t.false(next.isNew);
});

test('the wait ends with the caller, and leaves nothing held', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns } = replica!;
  const named = await turns.begin(wanted({ sessionId: 's' }));
  const unnamed = await turns.begin(wanted());
  for (const sessionId of ['s', unnamed.sessionId]) {
    const caller = new AbortController();
    const waiting = turns.begin(wanted({ sessionId, signal: caller.signal }));
    setImmediate(() => caller.abort(new Error('the client went away')));
    await t.throwsAsync(waiting, { message: 'the client went away' });
    await t.throwsAsync(turns.begin(wanted({ sessionId, signal: caller.signal })), {
      message: 'the client went away',
    });
  }
  await named[Symbol.asyncDispose]();
  await unnamed[Symbol.asyncDispose]();
  await using all = await turns.begin(wanted({ maxSessions: 1 }));
  t.true(all.isNew);
});

test('a turn ends with its caller, and with the hold on its session', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns, leases } = replica!;
  const caller = new AbortController();
  await using turn = await turns.begin(wanted({ signal: caller.signal }));
  caller.abort(new Error('the client went away'));
  t.is(turn.signal.reason.message, 'the client went away');
  await t.throwsAsync(turn.commit(outcome()), { message: 'the client went away' });
  await using other = await turns.begin(wanted());
  await leases.close();
  t.is(other.signal.reason.code, 'session.lost');
  await t.throwsAsync(other.commit(outcome()), { code: 'session.lost' });
});

for (const deployment of ['sqlite', 'postgres', 'mysql'] as const) {
  test(`${deployment}: any text survives, and so does any name of a user`, async (t) => {
    const opened = await turnReplicas(t, deployment);
    if (opened === undefined) return;
    const [replica] = opened.replicas;
    const hostile = 'NUL \0, half \ud800 of a pair, \\u0000, 😀, \u2028 "quoted"';
    const principal = { ...ALICE, userId: `${'x'.repeat(300)}\0\ud800` };
    const twin = { ...ALICE, userId: `${'x'.repeat(300)}\0\ud801` };
    await using turn = await replica!.turns.begin(wanted({ principal, sessionId: 's' }));
    const parts = [
      { type: 'text', text: hostile },
      { type: 'image_url', image_url: { url: hostile } },
    ];
    const messages = [
      { role: hostile.repeat(10), content: parts },
      { role: 'assistant', content: hostile },
    ];
    await turn.commit(outcome('', '', { messages, model: hostile.repeat(20) }));
    await turn[Symbol.asyncDispose]();
    t.deepEqual(
      (await stored(replica!, 's')).messages.map(({ message }) => message),
      messages,
    );
    await t.throwsAsync(replica!.turns.begin(wanted({ principal: twin, sessionId: 's' })), {
      code: 'session.forbidden',
    });
    await using next = await replica!.turns.begin(wanted({ principal, sessionId: 's' }));
    t.deepEqual(await next.history(10_000), messages);
  });
}

test('history is read in parts where the session is too large to read', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns } = replica!;
  const megabytes = 'x'.repeat(7 * 1024 * 1024);
  for (const text of ['small', megabytes, megabytes, megabytes]) {
    await using turn = await turns.begin(wanted({ sessionId: 's' }));
    await turn.commit(outcome(text, 'short'));
  }
  await using turn = await turns.begin(wanted({ sessionId: 's' }));
  const history = await turn.history(1_000_000_000);
  t.deepEqual(
    history.map(({ content }) => content?.length),
    [megabytes.length, 5, megabytes.length, 5],
  );
  t.deepEqual(await turn.history(100), []);
});

test('of a very long session the newest thousand messages are read, whole turns of them', async (t) => {
  const [replica] = (await turnReplicas(t, 'sqlite'))!.replicas;
  const { turns } = replica!;
  for (let index = 0; index < 5; index += 1) {
    await using turn = await turns.begin(wanted({ sessionId: 's' }));
    const messages = Array.from({ length: 300 }, (_, n) => ({
      role: n === 299 ? 'assistant' : 'user',
      content: `${index}:${n}`,
    }));
    await turn.commit(outcome('', '', { messages }));
  }
  await using turn = await turns.begin(wanted({ sessionId: 's' }));
  const history = await turn.history(1_000_000);
  t.deepEqual([history.length, history[0]?.content, history.at(-1)?.content], [900, '2:0', '4:299']);
  t.is((await turn.history(300 * 6)).length, 300);
});

eachDeployment('a turn that is larger than a statement may be is stored all the same', async (t, [one]) => {
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(7 << 20));
  await using turn = await one.turns.begin(wanted());
  const messages = texts.map((content) => ({ role: 'assistant', content }));
  await turn.commit({ ...outcome(), messages });
  const kept: string[] = [];
  for await (const { message } of eachMessage(one.database.forTenant(TENANT), turn.sessionId))
    kept.push(JSON.parse(message).content);
  t.true(kept.every((content, index) => content === texts[index]));
  t.is(kept.length, 3);
});
