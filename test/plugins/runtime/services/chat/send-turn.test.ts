import test from 'ava';
import type { AgentTurn, AgentTurnEvent } from '../../../../../plugins/agent-engine/contract.ts';
import { sendTurn } from '../../../../../plugins/runtime/services/chat/send-turn.ts';

const TEXT = { type: 'text', delta: 'Hello' } as AgentTurnEvent;
const END = { type: 'end' } as AgentTurnEvent;

/** A turn of these events, and what happens, in order. */
function turnOf(events: () => AsyncGenerator<AgentTurnEvent>) {
  const happened: string[] = [];
  const turn: AgentTurn = {
    sessionId: 's',
    model: 'default',
    events: events(),
    async [Symbol.asyncDispose]() {
      happened.push('disposed');
    },
  };
  const send = async ({ type }: AgentTurnEvent) => {
    happened.push(type);
  };
  return { turn, happened, send };
}

test('the session is free when the end of a turn is sent', async (t) => {
  const { turn, happened, send } = turnOf(async function* () {
    yield TEXT;
    yield END;
  });
  await sendTurn(turn, send);
  t.deepEqual(happened, ['text', 'disposed', 'end']);
});

test('the session is free when a broken turn is reported', async (t) => {
  const { turn, happened, send } = turnOf(async function* () {
    yield TEXT;
    throw new Error('broken');
  });
  await t.throwsAsync(sendTurn(turn, send), { message: 'broken' });
  t.deepEqual(happened, ['text', 'disposed']);
});
