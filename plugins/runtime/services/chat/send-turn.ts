import type { AgentTurn, AgentTurnEvent } from '../../../agent-engine/contract.ts';

/**
 * Sends the events of a turn, and disposes it before the end is sent: a client that has read the end finds the session
 * free, and may close its connection. Throws what breaks the turn, which is disposed then, too.
 */
export async function sendTurn(
  turn: AgentTurn,
  send: (event: AgentTurnEvent) => Promise<void>,
): Promise<void> {
  let end: AgentTurnEvent | undefined;
  {
    await using _ = turn;
    for await (const event of turn.events) {
      if (event.type === 'end') end = event;
      else await send(event);
    }
  }
  if (end !== undefined) await send(end);
}
