import type { AgentTurn, AgentTurnEvent } from '../../../agent-engine/contract.ts';

/**
 * Sends the events of a turn, and disposes it before the end is sent: a client that has read the end finds the session free, and may close its connection.
 * Throws what breaks the turn, which is disposed then, too.
 */
export async function sendTurn(
  turn: AgentTurn,
  send: (event: AgentTurnEvent) => Promise<void>,
): Promise<void> {
  const end = await sendUntilEnd(turn, send);
  if (end !== undefined) await send(end);
}

async function sendUntilEnd(
  turn: AgentTurn,
  send: (event: AgentTurnEvent) => Promise<void>,
): Promise<AgentTurnEvent | undefined> {
  await using _ = turn;
  for await (const event of turn.events) {
    if (event.type === 'end') return event;
    await send(event);
  }
  return undefined;
}
