import test from 'ava';
import type { AgentTurn, AgentTurnEvent } from '../../../../../plugins/agent-engine/contract.ts';
import type { ChatEnds } from '../../../../../plugins/runtime/services/v3-chat/chat-ends.ts';
import { type ChatWork, createChatRuns } from '../../../../../plugins/runtime/services/v3-chat/chat-run.ts';

test('session and lease are free when the end of a chat is sent', async (t) => {
  const happened: string[] = [];
  const happens = (what: string) => async () => void happened.push(what);
  const row = {
    id: 'c',
    identityId: 'i',
    userId: 'u',
    conversationId: 's',
    botId: 'payer',
    status: 'in_progress',
    metaData: '{}',
    result: '{}',
    messages: '[]',
    createdAt: new Date(0),
    completedAt: null,
  } as const;
  const end = { type: 'end', result: {}, usage: { prompt_tokens: 1, completion_tokens: 2 } };
  const turn = {
    async *events() {
      yield { type: 'text', delta: 'Hello' } as AgentTurnEvent;
      yield end as AgentTurnEvent;
    },
  };
  const ends: Pick<ChatEnds, 'settle'> = {
    async settle(_, now, change) {
      happened.push('settled');
      return { ...now, ...change };
    },
  };
  const carryOut = createChatRuns({
    ends: ends as ChatEnds,
    database: { forTenant: () => undefined as never },
    clock: { now: () => 0 } as never,
    ids: { uuid: () => 'm' } as never,
  });
  const lease = { signal: new AbortController().signal, [Symbol.asyncDispose]: happens('lease released') };
  const work = {
    row,
    lease,
    isKept: true,
    call: { principal: { tenantId: 't' } },
    begin: async () =>
      ({ events: turn.events(), [Symbol.asyncDispose]: happens('turn disposed') }) as unknown as AgentTurn,
  };
  await carryOut(work as unknown as ChatWork, new AbortController().signal, ({ event }) => {
    happened.push(event.replace('conversation.', ''));
    return undefined;
  });
  t.deepEqual(happened.slice(-6), [
    'message.completed',
    'turn disposed',
    'settled',
    'lease released',
    'chat.completed',
    'done',
  ]);
});
