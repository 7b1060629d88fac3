import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { ChatChunk, ChatDelta, FinishReason } from '../../../contract.ts';
import { createCallIds } from '../call-ids.ts';
import { malformed } from '../provider-errors.ts';
import { type AnswerHead, type ReasoningDetail, toFinishReason, toUsage, withExtra } from './completion.ts';

type Part<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>;

interface StreamedCall {
  readonly index: number;
  /** Whether its arguments come as JSON text, piece by piece; otherwise they come whole, at its end. */
  readonly isStreamed: boolean;
  hasArguments: boolean;
  /** Whether what the provider wants back with it was sent. */
  hasExtra: boolean;
}

/** Most calls of tools in one answer; more are a fault of the provider. */
const MOST_CALLS = 1000;

/**
 * Turns the parts of one streamed answer into chunks. The first chunk has the role and comes with the first content, so
 * that a stream that fails before it did not begin. The caller handles `error` parts.
 *
 * @param newId makes an id for a call that has none, or that has the id of another call
 */
export function createChunkTranslator(head: AnswerHead, newId: () => string) {
  let { id, model } = head;
  let hasBegun = false;
  let isFinished = false;
  /** Calls that are not whole yet, by the provider's ids. */
  const open = new Map<string, StreamedCall>();
  const idOf = createCallIds(newId);
  let count = 0;
  const thoughts = new Map<string, { text: string; metadata: SharedV4ProviderMetadata | undefined }>();

  function chunk(delta: ChatDelta, finish_reason: FinishReason | null = null): ChatChunk {
    const choices = [{ index: 0, delta, finish_reason }];
    return { id, object: 'chat.completion.chunk', created: head.created, model, choices };
  }

  function say(...deltas: readonly ChatDelta[]): ChatChunk[] {
    const chunks = deltas.map((delta) => chunk(delta));
    if (hasBegun) return chunks;
    hasBegun = true;
    return [chunk({ role: 'assistant', content: '' }), ...chunks];
  }

  function think({ id: block, delta, providerMetadata }: Part<'reasoning-delta'>): ChatChunk[] {
    remember(block, delta, providerMetadata);
    return delta === '' ? [] : say({ reasoning_content: delta });
  }

  function remember(block: string, text: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const known = thoughts.get(block) ?? { text: '', metadata: undefined };
    known.text += text;
    if (metadata !== undefined) known.metadata = { ...known.metadata, ...metadata };
    thoughts.set(block, known);
  }

  function beginCall(callId: string, name: string, isStreamed: boolean, extra?: SharedV4ProviderMetadata) {
    if (count >= MOST_CALLS) throw malformed('it calls too many tools');
    const call = { index: count, isStreamed, hasArguments: false, hasExtra: extra !== undefined };
    count += 1;
    open.set(callId, call);
    const begun = { index: call.index, id: idOf(callId), type: 'function' as const };
    const delta = { ...begun, function: { name, arguments: '' }, ...withExtra(extra) };
    return { call, delta: { tool_calls: [delta] } };
  }

  function writeArguments(call: StreamedCall, text: string): ChatDelta {
    call.hasArguments = true;
    return { tool_calls: [{ index: call.index, function: { arguments: text } }] };
  }

  /** The whole call, which providers send after its pieces as well as instead of them. */
  function finishCall({ toolCallId, toolName, input, providerMetadata }: Part<'tool-call'>): ChatChunk[] {
    const known = open.get(toolCallId);
    if (known === undefined) {
      const { call, delta } = beginCall(toolCallId, toolName, false, providerMetadata);
      open.delete(toolCallId);
      return say(delta, writeArguments(call, input));
    }
    // What comes with this id from now on is another call's.
    open.delete(toolCallId);
    const text = known.hasArguments ? '' : input;
    const extra = known.hasExtra ? {} : withExtra(providerMetadata);
    if (text === '' && extra.extra_content === undefined) return [];
    // Clients such as the AI SDK refuse a piece without a function.
    return say({ tool_calls: [{ index: known.index, function: { arguments: text }, ...extra }] });
  }

  function finish({ finishReason, usage }: Part<'finish'>): ChatChunk[] {
    const reason = toFinishReason(finishReason);
    isFinished = true;
    const details = [...thoughts.values()].flatMap(({ text, metadata }): ReasoningDetail[] =>
      metadata === undefined ? [] : [{ text, provider_metadata: metadata }],
    );
    const counted = toUsage(usage);
    return [
      ...say(...(details.length > 0 ? [{ reasoning_details: details }] : [])),
      chunk({}, reason),
      ...(counted ? [{ ...chunk({}), choices: [], usage: counted }] : []),
    ];
  }

  return {
    /**
     * The chunks that this part makes; often none. Throws `model.upstream` for an answer that the provider could not
     * finish.
     */
    push(part: LanguageModelV4StreamPart): readonly ChatChunk[] {
      if (isFinished) return [];
      switch (part.type) {
        case 'response-metadata':
          id = part.id ?? id;
          model = part.modelId ?? model;
          return [];
        case 'text-delta':
          return part.delta === '' ? [] : say({ content: part.delta });
        case 'reasoning-delta':
          return think(part);
        case 'reasoning-start':
        case 'reasoning-end':
          if (part.providerMetadata) remember(part.id, '', part.providerMetadata);
          return [];
        case 'tool-input-start': {
          if (part.providerExecuted) return [];
          const isStreamed = part.inputEncoding !== 'text';
          return say(beginCall(part.id, part.toolName, isStreamed, part.providerMetadata).delta);
        }
        case 'tool-input-delta': {
          const call = open.get(part.id);
          return call?.isStreamed && part.delta !== '' ? say(writeArguments(call, part.delta)) : [];
        }
        case 'tool-call':
          return part.providerExecuted ? [] : finishCall(part);
        case 'finish':
          return finish(part);
        default:
          return [];
      }
    },
    /** To be called when nothing more comes. Throws `model.upstream` where the answer was not finished. */
    end(): void {
      if (!isFinished) throw malformed('the stream ended without a finish reason');
    },
  };
}
