import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Ids } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatDelta,
  type ChatRequest,
  type FinishReason,
  type ModelCallContext,
  type ModelClient,
  ModelErrors,
  type ToolCall,
  type Usage,
} from '../../contract.ts';
import { answerAsDemo, estimateUsage, limitText, toTokens } from './demo-answer.ts';

/** Settings and collaborators of the demo model. */
export interface DemoModelOptions {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'opaque'>;
  /** Pause before each chunk in milliseconds, which makes the stream visible. Default 15; 0 pauses not at all. */
  readonly chunkDelayMs?: number;
}

interface Reply {
  readonly content: string;
  readonly calls: readonly ToolCall[];
  readonly finish_reason: FinishReason;
  readonly usage: Usage;
}

/**
 * The built-in model: offline, and the same answer to the same conversation every time (ids and times aside). It
 * streams word by word, calls tools that the conversation clearly asks for, and says what it is in each answer. It
 * keeps to `max_tokens`, `stop`, `tool_choice`, `parallel_tool_calls` and `response_format`. Tool calls are never cut
 * by `max_tokens`: half a JSON text would be of no use. After a tool's result it always answers, also where
 * `tool_choice` is `required`, so that no loop runs on for ever.
 */
export function createDemoModel({ clock, ids, chunkDelayMs = 15 }: DemoModelOptions): ModelClient {
  const head = (request: ChatRequest) => ({
    id: `chatcmpl-${ids.opaque()}`,
    created: Math.floor(clock.now() / 1000),
    model: request.model,
  });

  function reply(request: ChatRequest): Reply {
    const answer = answerAsDemo(request);
    const calls = answer.calls.map((call) => ({
      id: `call_${ids.opaque()}`,
      type: 'function' as const,
      function: call,
    }));
    const { content, finish_reason } =
      calls.length > 0 ? { content: '', finish_reason: 'tool_calls' } : limitText(answer.text, request);
    const consumed = [content, ...answer.calls.flatMap((call) => [call.name, call.arguments])];
    return { content, calls, finish_reason, usage: estimateUsage(request, consumed) };
  }

  async function complete(request: ChatRequest, { signal }: ModelCallContext): Promise<ChatCompletion> {
    if (signal.aborted) throw ModelErrors.aborted();
    const { content, calls, finish_reason, usage } = reply(request);
    const message =
      calls.length > 0
        ? { role: 'assistant', content: null, tool_calls: calls }
        : { role: 'assistant', content };
    const choices = [{ index: 0, message, finish_reason }];
    return { ...head(request), object: 'chat.completion', choices, usage };
  }

  async function* stream(
    request: ChatRequest,
    { signal }: ModelCallContext,
  ): AsyncGenerator<ChatChunk, void> {
    const answer = reply(request);
    const common = { ...head(request), object: 'chat.completion.chunk' as const };
    for (const delta of deltas(answer)) {
      await pauseUntil(chunkDelayMs, signal);
      yield { ...common, choices: [{ index: 0, delta, finish_reason: null }] };
    }
    if (signal.aborted) throw ModelErrors.aborted();
    yield { ...common, choices: [{ index: 0, delta: {}, finish_reason: answer.finish_reason }] };
    yield { ...common, choices: [], usage: answer.usage };
  }

  return { complete, stream };
}

function* deltas({ content, calls }: Reply): Generator<ChatDelta> {
  yield { role: 'assistant', content: calls.length > 0 ? null : '' };
  for (const token of toTokens(content)) yield { content: token };
  for (const [index, call] of calls.entries()) {
    yield { tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: '' } }] };
    for (const token of toTokens(call.function.arguments)) {
      yield { tool_calls: [{ index, function: { arguments: token } }] };
    }
  }
}

async function pauseUntil(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw ModelErrors.aborted();
  if (milliseconds === 0) return;
  try {
    await pause(milliseconds, undefined, { signal });
  } catch {
    throw ModelErrors.aborted();
  }
}
