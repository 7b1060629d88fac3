import type { GrpcMessage } from 'agent-gateway';
import type { AgentTurnEvent, Interrupt } from '../../agent-engine/contract.ts';

/** Converts an event of a turn to `ChatResponse`s; `conversation.proto` documents each. Pure. */
export function chatResponses(event: AgentTurnEvent, sessionId: string): readonly GrpcMessage[] {
  switch (event.type) {
    case 'text':
      return [{ event_type: 'delta', delta: event.delta }];
    case 'reasoning':
      return [{ event_type: 'thinking', thinking: event.delta }];
    case 'tool_call': {
      const { id, name, arguments: given, agentPath } = event;
      const tool_call = { id, name, status: 'calling', arguments: given, agent_path: agentPath };
      return [{ event_type: 'tool_call', tool_call }];
    }
    case 'tool_result': {
      const { id, name, content, isError, agentPath } = event;
      const status = isError ? 'failed' : 'completed';
      const tool_call = { id, name, status, result: content, is_error: isError, agent_path: agentPath };
      return [{ event_type: 'tool_result', tool_call }];
    }
    case 'agent_switch':
      return [{ event_type: 'agent_switch', agent_switch: { from_agent: event.from, to_agent: event.to } }];
    case 'end':
      return endOf(event, sessionId);
  }
}

function endOf(
  { result, usage }: AgentTurnEvent & { readonly type: 'end' },
  sessionId: string,
): readonly GrpcMessage[] {
  const { finish, text, checkpoint } = result;
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  const whole = { event_type: 'message', message: { role: 'assistant', content: text } };
  return [
    ...(checkpoint?.interrupts ?? []).map(interruptResponse),
    ...(finish === 'interrupted' ? [] : [whole]),
    {
      event_type: 'done',
      finish_reason: finish,
      session_id: sessionId,
      usage: { prompt_tokens, completion_tokens, total_tokens },
    },
  ];
}

function interruptResponse({ id, type, reason, agentPath, toolCall, fields }: Interrupt): GrpcMessage {
  return {
    event_type: 'interrupt',
    interrupt: {
      id,
      type,
      reason,
      agent_path: agentPath,
      fields,
      ...(toolCall && { tool_call: { ...toolCall, status: 'calling' } }),
    },
  };
}
