import type { AgentTurnEvent } from '../../../agent-engine/contract.ts';

/** One step of an agent, for debugging (decisions 1.6). All text in it is redacted. */
export type AgenticBlock =
  | {
      readonly type: 'reasoning' | 'user_input_text' | 'assistant_gen_text';
      readonly data: { readonly text: string };
    }
  | {
      readonly type: 'function_tool_call';
      readonly data: { readonly call_id: string; readonly name: string; readonly arguments: string };
    }
  | {
      readonly type: 'function_tool_result';
      readonly data: { readonly call_id: string; readonly name: string; readonly content: string };
    };

/**
 * A collector for one turn: for each event it returns the blocks that are complete now. Pieces of text become one block
 * when another kind of event, or the end, follows.
 */
export function createBlockCollector(): (event: AgentTurnEvent) => readonly AgenticBlock[] {
  let kind: 'reasoning' | 'assistant_gen_text' = 'assistant_gen_text';
  let pieces: string[] = [];

  function flush(): readonly AgenticBlock[] {
    if (pieces.length === 0) return [];
    const block: AgenticBlock = { type: kind, data: { text: pieces.join('') } };
    pieces = [];
    return [block];
  }

  function add(next: typeof kind, delta: string): readonly AgenticBlock[] {
    const whole = next === kind ? [] : flush();
    kind = next;
    pieces.push(delta);
    return whole;
  }

  return (event) => {
    switch (event.type) {
      case 'text':
        return add('assistant_gen_text', event.delta);
      case 'reasoning':
        return add('reasoning', event.delta);
      case 'tool_call': {
        const { id, name } = event;
        return [
          ...flush(),
          { type: 'function_tool_call', data: { call_id: id, name, arguments: event.arguments } },
        ];
      }
      case 'tool_result': {
        const { id, name, content } = event;
        return [...flush(), { type: 'function_tool_result', data: { call_id: id, name, content } }];
      }
      case 'end':
        return flush();
      default:
        return [];
    }
  };
}
