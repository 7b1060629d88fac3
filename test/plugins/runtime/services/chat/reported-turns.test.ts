import { KernelErrors } from 'agent-gateway';
import test from 'ava';
import type { AgentTurn, AgentTurnEvent, AgentTurns } from '../../../../../plugins/agent-engine/contract.ts';
import { reportedTurns } from '../../../../../plugins/runtime/services/chat/reported-turns.ts';
import type { WebhookEvents } from '../../../../../plugins/runtime/services/webhooks/webhook-events.ts';

/** A turn of the session `s1` as plugins get it, and what webhooks hear of it. */
async function begun(events: () => AsyncGenerator<AgentTurnEvent>) {
  const heard: [string, unknown][] = [];
  let ended = 0;
  const turn: AgentTurn = {
    sessionId: 's1',
    model: 'default',
    events: events(),
    [Symbol.asyncDispose]: async () => {
      ended += 1;
    },
  };
  const webhooks: Pick<WebhookEvents, 'emit'> = {
    async emit(_tenant, ...happened) {
      for (const { type, data } of happened)
        heard.push([type, (data as { error_code?: string }).error_code ?? '']);
    },
  };
  const turns = { begin: async () => turn } as unknown as AgentTurns;
  const call = { principal: { tenantId: 't1' }, signal: AbortSignal.abort(KernelErrors.clientClosed()) };
  const reported = await reportedTurns(turns, webhooks as WebhookEvents).begin(
    call as never,
    { store: true } as never,
  );
  return { turn: reported, heard, ends: () => ended };
}

async function* text(): AsyncGenerator<AgentTurnEvent> {
  yield { type: 'text', delta: 'Hello' } as AgentTurnEvent;
  yield { type: 'text', delta: ' you' } as AgentTurnEvent;
}

test('a turn whose events nobody begins to read has failed', async (t) => {
  const { turn, heard, ends } = await begun(text);
  await turn[Symbol.asyncDispose]();
  t.deepEqual(heard, [['agent.run.failed', 'request.client-closed']]);
  t.is(ends(), 1);
});

test('a turn that is left is told of once, however often it is disposed', async (t) => {
  const { turn, heard } = await begun(text);
  for await (const _ of turn.events) break;
  await turn[Symbol.asyncDispose]();
  await turn[Symbol.asyncDispose]();
  t.deepEqual(heard, [['agent.run.failed', 'request.client-closed']]);
});

test('a turn that fails is told of with its own error, before its reader learns it', async (t) => {
  // biome-ignore lint/correctness/useYield: it fails before it says anything
  const { turn, heard } = await begun(async function* () {
    throw KernelErrors.internal();
  });
  await t.throwsAsync(async () => {
    for await (const _ of turn.events);
  });
  t.deepEqual(heard, [['agent.run.failed', 'internal']]);
  await turn[Symbol.asyncDispose]();
  t.is(heard.length, 1);
});

test('of a turn that ended nothing more is told than its commit tells', async (t) => {
  const { turn, heard } = await begun(async function* () {
    yield { type: 'end' } as AgentTurnEvent;
  });
  for await (const _ of turn.events);
  await turn[Symbol.asyncDispose]();
  t.deepEqual(heard, []);
});
