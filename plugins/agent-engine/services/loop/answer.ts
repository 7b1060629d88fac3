import { type ChatChunk, ModelErrors, type ToolCall, type Usage } from '../../contract.ts';

/** A model's whole answer, joined from the chunks of a stream. */
export interface Answer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Calls beyond `MAX_CALLS`, which are not made. */
  readonly dropped: number;
  readonly finishReason: string | undefined;
  readonly usage: Usage | undefined;
  /** What the model has thought, as far as its provider shows it. */
  readonly reasoning: string;
  /** What the provider wants back with the results of the calls: signed thoughts, opaque. */
  readonly reasoningDetails: readonly unknown[];
}

/** What one chunk adds for a reader; empty texts for nothing. */
export interface AnswerPart {
  readonly text: string;
  readonly reasoning: string;
}

/** Calls of one answer that are made at most; more of them are a fault of the model. */
export const MAX_CALLS = 64;
/** Characters of text, reasoning, calls, and what the provider wants back with them. */
export const MAX_ANSWER = 2 * 1024 * 1024;

interface OpenCall {
  readonly id: string;
  name: string;
  arguments: string;
  extra: ToolCall['extra_content'];
}

/** Starts an answer, to be joined from chunks. */
export function joinAnswer() {
  const calls = new Map<number, OpenCall>();
  let text = '';
  let thoughts = '';
  let size = 0;
  let finishReason: string | undefined;
  let usage: Usage | undefined;
  const reasoningDetails: unknown[] = [];

  function callAt(index: number, id: string): OpenCall {
    const known = calls.get(index);
    if (known !== undefined) return known;
    const call = { id, name: '', arguments: '', extra: undefined };
    calls.set(index, call);
    return call;
  }

  function grow(characters: number): void {
    size += characters;
    if (size > MAX_ANSWER) throw ModelErrors.upstream('The answer of the model is too long.');
  }

  return {
    /** Throws `model.upstream` once the answer is longer than `MAX_ANSWER`. */
    add(chunk: ChatChunk): AnswerPart {
      if (chunk.usage) usage = chunk.usage;
      const choice = chunk.choices[0];
      if (choice === undefined) return { text: '', reasoning: '' };
      if (choice.finish_reason) finishReason = choice.finish_reason;
      const { content, refusal, reasoning_content, reasoning_details, tool_calls } = choice.delta;
      if (Array.isArray(reasoning_details)) {
        grow(JSON.stringify(reasoning_details).length);
        for (const detail of reasoning_details) reasoningDetails.push(detail);
      }
      const added = content || refusal || '';
      const reasoning = typeof reasoning_content === 'string' ? reasoning_content : '';
      grow(added.length + reasoning.length);
      text += added;
      thoughts += reasoning;
      for (const { index, id = '', function: piece, extra_content } of tool_calls ?? []) {
        const call = callAt(index, id);
        if (call.extra === undefined && extra_content !== undefined) {
          grow(JSON.stringify(extra_content).length);
          call.extra = extra_content;
        }
        call.name += piece?.name ?? '';
        call.arguments += piece?.arguments ?? '';
        grow(id.length + (piece?.name?.length ?? 0) + (piece?.arguments?.length ?? 0));
      }
      return { text: added, reasoning };
    },
    /** What has come so far. */
    answer(): Answer {
      const made = [...calls.values()].slice(0, MAX_CALLS);
      return {
        text,
        calls: made.map(({ id, name, arguments: given, extra }) => ({
          id,
          type: 'function',
          function: { name, arguments: given },
          ...(extra !== undefined && { extra_content: extra }),
        })),
        dropped: calls.size - made.length,
        finishReason,
        usage,
        reasoning: thoughts,
        reasoningDetails,
      };
    },
  };
}
