import { GatewayError } from 'agent-gateway';
import type { ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import type {
  ChatChunk,
  ChatRequest,
  ModelCallContext,
} from '../../../../../plugins/agent-engine/contract.ts';
import {
  createOpenAIClient,
  type OpenAIClientOptions,
} from '../../../../../plugins/agent-engine/services/models/openai-client.ts';

/** A key that must never be seen in an error. */
export const API_KEY = 'sk-test-0123456789abcdefghij';

/** A client for a fake provider, with retries that do not wait. */
export function clientFor(
  url: string,
  options: Partial<OpenAIClientOptions> = {},
): ReturnType<typeof createOpenAIClient> {
  const retry = { baseMs: 1, ...options.retry };
  return createOpenAIClient({
    apiUrl: url,
    apiKey: API_KEY,
    clock: systemClock,
    ids: createIds(systemClock),
    ...options,
    retry,
  });
}

/** A request with one user message. */
export function ask(text = 'Hi', extra: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'fake-model', messages: [{ role: 'user', content: text }], ...extra };
}

/** A call's context, of a caller who never hangs up unless a signal is given. */
export function context(signal: AbortSignal = new AbortController().signal): ModelCallContext {
  return { signal, requestId: 'request-1' };
}

/** All chunks of a stream. */
export async function collect(chunks: AsyncIterable<ChatChunk>): Promise<ChatChunk[]> {
  const all: ChatChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

/** The joined text of chunks. */
export function textOf(chunks: readonly ChatChunk[]): string {
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
}

/** The catalogued error that a call ends with; fails the test when there is none. */
export async function failureOf(t: ExecutionContext, call: Promise<unknown>): Promise<GatewayError> {
  const error = await t.throwsAsync(call);
  if (error instanceof GatewayError) return error;
  throw new Error('not a catalogued error', { cause: error });
}
