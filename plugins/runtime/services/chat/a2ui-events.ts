import type { AgentTurnEvent, Interrupt } from '../../../agent-engine/contract.ts';

/** One event of the A2UI mode, without its envelope (specification 3, Streaming formats; decisions 3.1). */
export interface A2uiEvent {
  readonly type:
    | 'text'
    | 'thinking'
    | 'tool_call'
    | 'tool_result'
    | 'agent_switch'
    | 'interrupt'
    | 'error'
    | 'done';
  readonly data: Readonly<Record<string, unknown>> | null;
}

const DONE: A2uiEvent = { type: 'done', data: null };

/** Converts an event of a turn to events of the A2UI mode. Pure. */
export function a2uiEvents(event: AgentTurnEvent): readonly A2uiEvent[] {
  switch (event.type) {
    case 'text':
      return [{ type: 'text', data: { delta: event.delta } }];
    case 'reasoning':
      return [{ type: 'thinking', data: { delta: event.delta } }];
    case 'tool_call':
      return [
        {
          type: 'tool_call',
          data: { id: event.id, name: event.name, status: 'calling', agent_path: event.agentPath },
        },
      ];
    case 'tool_result': {
      const { id, name, content, isError, agentPath } = event;
      const data = { id, name, result: content, is_error: isError, agent_path: agentPath };
      return [{ type: 'tool_result', data }];
    }
    case 'agent_switch':
      return [{ type: 'agent_switch', data: { from_agent: event.from, to_agent: event.to } }];
    case 'end':
      return [...openInterrupts(event), DONE];
  }
}

/** The pauses with which a turn ended, as events; none where it did not end with pauses. Pure. */
function openInterrupts(event: AgentTurnEvent & { readonly type: 'end' }): readonly A2uiEvent[] {
  const { interrupts = [] } = event.result.checkpoint ?? {};
  return interrupts.map((interrupt) => ({ type: 'interrupt', data: { ...interruptOnWire(interrupt) } }));
}

/** A pause as clients see it (decisions 3.1). Pure. */
export function interruptOnWire({ id, type, agentPath, reason, toolCall, fields }: Interrupt) {
  return {
    id,
    type,
    agent_path: agentPath,
    reason,
    ...(toolCall && { tool_call: toolCall }),
    fields,
  };
}
