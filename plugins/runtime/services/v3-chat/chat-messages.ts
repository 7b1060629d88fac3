import { type Clock, type Ids, parsedJson } from 'agent-gateway';
import type { AgentTurnEvent } from '../../../agent-engine/contract.ts';

/** Characters of all messages of a chat that are listed afterwards. The conversation stores them completely. */
const MAX_LISTED = 1024 * 1024;

/** A message of a chat, with its kind (the SDK's `MessageType`). */
export interface ChatMessageRecord {
  readonly id: string;
  readonly type: 'answer' | 'function_call' | 'tool_response';
  readonly content: string;
  /** The model's reasoning, where the model returns it. */
  readonly reasoning: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A message that grows, or one that is complete. */
export interface ChatMessageEvent {
  readonly event: 'conversation.message.delta' | 'conversation.message.completed';
  readonly message: ChatMessageRecord;
}

/** Makes messages of the events of a turn. An answer ends where a tool is called, and at the end of the turn. */
export function createChatMessages({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
  const listed: ChatMessageRecord[] = [];
  let room = MAX_LISTED;
  let open: ChatMessageRecord | undefined;

  const started = (type: ChatMessageRecord['type'], content: string): ChatMessageRecord => ({
    id: ids.uuid(),
    type,
    content,
    reasoning: '',
    createdAt: clock.now(),
  });

  function completed(message: ChatMessageRecord): ChatMessageEvent {
    const content = message.content.slice(0, room);
    room -= content.length;
    const reasoning = message.reasoning.slice(0, room);
    room -= reasoning.length;
    listed.push({ ...message, content, reasoning });
    return { event: 'conversation.message.completed', message };
  }

  function grown(content: string, reasoning: string): ChatMessageEvent {
    const now = open ?? started('answer', '');
    open = { ...now, content: now.content + content, reasoning: now.reasoning + reasoning };
    return { event: 'conversation.message.delta', message: { ...now, content, reasoning } };
  }

  function closed(): readonly ChatMessageEvent[] {
    if (open === undefined) return [];
    const message = open;
    open = undefined;
    return [completed(message)];
  }

  return {
    listed: listed as readonly ChatMessageRecord[],

    events(event: AgentTurnEvent): readonly ChatMessageEvent[] {
      switch (event.type) {
        case 'text':
          return [grown(event.delta, '')];
        case 'reasoning':
          return [grown('', event.delta)];
        case 'tool_call': {
          // The model writes them, and need not write JSON. `null` is JSON.
          const { id, name, arguments: text } = event;
          const given = parsedJson(text);
          const call = { name, arguments: given === undefined ? text : given, tool_call_id: id };
          return [...closed(), completed(started('function_call', JSON.stringify(call)))];
        }
        case 'tool_result':
          return [...closed(), completed(started('tool_response', event.content))];
        case 'agent_switch':
        case 'end':
          return closed();
      }
    },
  };
}
