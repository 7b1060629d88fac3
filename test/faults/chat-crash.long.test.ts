import test from 'ava';
import { sampledGatewayDatabase } from '../support/databases.ts';
import { plain, startFakeProvider } from '../support/fake-provider.ts';
import { startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { until } from '../support/until.ts';

sampledGatewayDatabase(
  test,
  'kill -9 amid turns loses no answered turn and leaves no half of one',
  async (t, fresh) => {
    await using provider = await startFakeProvider(plain('Yes.'));
    const folder = await temporaryFolder(t);
    const env = {
      ...fresh.environment,
      LLM_API_URL: provider.url,
      LLM_MODEL: 'fake-model',
      OBJECT_STORE_URL: 'none',
    };
    const first = await startGatewayProcess(t, folder, env);
    const raised = await first.request('/v1/tenants/00000000-0000-0000-0000-000000000001', {
      method: 'PUT',
      body: { rate_limit_rpm: 100_000, max_sessions: 1000 },
    });
    t.is(raised.status, 200);
    const answered = new Map<string, number>();
    const turn = (url: typeof first, session: string, content: string) =>
      url.request('/v1/chat/completions', {
        method: 'POST',
        body: { model: 'default', messages: [{ role: 'user', content }] },
        headers: { 'x-svc-session-id': session },
      });
    const chatting = Array.from({ length: 8 }, async (_, index) => {
      const session = `session-${index}`;
      for (let round = 0; ; round += 1) {
        const answer = await turn(first, session, `round ${round}`).catch(() => undefined);
        if (answer === undefined) return;
        if (answer.status === 200) answered.set(session, (answered.get(session) ?? 0) + 1);
      }
    });
    await until(() => [...answered.values()].reduce((sum, count) => sum + count, 0) > 40, 20_000);
    await first.stop('SIGKILL');
    await Promise.all(chatting);

    const second = await startGatewayProcess(t, folder, env);
    for (const [session, count] of answered) {
      const { body } = await second.request(`/v1/sessions/${session}`);
      t.true(
        body.turns === count || body.turns === count + 1,
        `${session}: ${count} answered, ${body.turns} stored`,
      );
      const roles = body.messages.map(({ role }: { role: string }) => role);
      t.deepEqual(roles, Array.from({ length: body.turns }, () => ['user', 'assistant']).flat());
      t.is(body.input_tokens, 7 * body.turns);
      const usage = await second.request(`/v1/usage/details?session_id=${session}&limit=500`);
      t.is(usage.body.records.length, body.turns);
    }
    // The lease of the dead process holds a session for a while at most.
    await until(async () => (await turn(second, 'session-0', 'after')).status === 200, 60_000);
  },
);
