import type { ExecutionContext } from 'ava';
import test from 'ava';
import type { Database } from '../../../../foundation/data/database.ts';
import { DEFAULT_TENANT_ID } from '../../../../kernel/access/identity.ts';
import { type Sessions, SessionsRef, type Turns, TurnsRef } from '../../../../plugins/records/contract.ts';
import { retainedConversations } from '../../../../plugins/runtime/services/retained-conversations.ts';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { testPlugin } from '../../../support/plugins.ts';
import { startRuntime } from '../runtime-gateway.ts';

const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();

async function start(t: ExecutionContext, { environment }: FreshDatabase) {
  let parts: { readonly turns: Turns; readonly sessions: Sessions } | undefined;
  let database: Database | undefined;
  const spy = testPlugin('spy', {
    needs: { turns: TurnsRef, sessions: SessionsRef },
    setup: (scope, needs) => {
      ({ database } = scope.services);
      parts = needs as typeof parts;
    },
  });
  const clock = manualClock(Date.now());
  const gateway = await startRuntime(t, { clock, env: environment, plugins: [spy] });
  const { turns, sessions } = parts!;
  const kind = retainedConversations(database!, sessions);
  const ask = async (method: string, path = '', body?: object) =>
    (await gateway.request(`/api/v2/conversations${path}`, { method, ...(body && { body }) })).body;
  const principal = { tenantId: DEFAULT_TENANT_ID, identityId: 'static-token', userId: 'static-token' };
  return {
    clock,
    kind,
    begin: async (title: string): Promise<string> =>
      (await ask('POST', '', { bot_id: 'default', title })).conversation.id,
    change: (id: string) => ask('PUT', `/${id}`, { title: 'changed' }),
    say: (sessionId: string) => turns.begin({ principal, isAdmin: true, sessionId, maxSessions: 10, signal }),
    outcome: {
      model: 'demo',
      source: 'chat',
      messages: [{ role: 'user', content: 'Hello' }],
      uses: [],
    } as const,
    forget: (sessionId: string) =>
      gateway.request(`/api/v2/sessions/${sessionId}`, { method: 'DELETE' }).then(({ status }) => status),
    titles: async (): Promise<readonly string[]> =>
      (await ask('GET')).conversations.map(({ title }: { title: string }) => title).sort(),
    /** How many go that are older than the days. */
    async sweep(days: number): Promise<number> {
      const before = new Date(clock.now() - days * DAY_MS);
      const expected = await kind.count(DEFAULT_TENANT_ID, before);
      let deleted = 0;
      for await (const count of kind.deleteBefore(DEFAULT_TENANT_ID, before, signal)) deleted += count;
      return deleted === expected ? deleted : Number.NaN;
    },
  };
}

eachGatewayDatabase(test, 'conversations without messages go when they are old', async (t, fresh) => {
  const { clock, kind, begin, change, say, outcome, forget, titles, sweep } = await start(t, fresh);
  await begin('empty');
  const said = await begin('said');
  const inFlight = await begin('in flight');
  const changed = await begin('old title');
  {
    await using turn = await say(said);
    await turn.commit(outcome);
  }
  t.is(await sweep(2), 0, 'none is old');

  clock.advance(3 * DAY_MS);
  await begin('new');
  await change(changed);
  {
    await using _ = await say(inFlight);
    t.is(await sweep(2), 1);
    t.deepEqual(await titles(), ['changed', 'in flight', 'new', 'said']);
  }
  t.is(await sweep(2), 1, 'its turn has stored nothing');
  t.is((await kind.sizes()).get(DEFAULT_TENANT_ID), 3);
  t.is(await kind.count(DEFAULT_TENANT_ID), 3);

  t.is(await forget(said), 204);
  clock.advance(DAY_MS);
  t.is(await sweep(2), 1, 'its messages have gone');
  t.deepEqual(await titles(), ['changed', 'new']);
  clock.advance(3 * DAY_MS);
  t.is(await sweep(2), 2);
});
