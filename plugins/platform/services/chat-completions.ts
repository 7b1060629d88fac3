import { type Clock, type Ids, KernelErrors } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ModelCallContext,
  ModelErrors,
  type Models,
} from '../../agent-engine/contract.ts';
import { type AnswerHead, createChunkRewriter } from './chat-chunks.ts';
import { conversationProblems } from './conversation.ts';

/** A request as clients send it: `store` is meant for the gateway, not for the provider. */
export type ClientRequest = ChatRequest & { readonly store?: boolean | null };

/** Where a streamed answer goes. A promise means: wait, the reader is slower. */
export interface EventSink {
  /** Sends the text of one event. */
  data(text: string): Promise<void> | undefined;
}

/** Chat completions as OpenAI's API gives them (specification 1, Chat; decisions 1.6). */
export interface ChatCompletions {
  /** The whole answer. Throws `model_not_found` and the model port's errors. */
  complete(request: ClientRequest, context: ModelCallContext): Promise<ChatCompletion>;
  /**
   * Begins an answer: resolves when its first chunk is there, so that all that fails before it can still be told by a
   * status. The result has to be called, once: it sends the chunks and `[DONE]`, or throws what broke the stream.
   */
  stream(request: ClientRequest, context: ModelCallContext): Promise<(sink: EventSink) => Promise<void>>;
}

/** Makes the service. `assertOutsideTransaction` refuses to wait for a model while a transaction is open. */
export function createChatCompletions(options: {
  readonly models: Models;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly assertOutsideTransaction: (what: string) => void;
}): ChatCompletions {
  const { models, clock, ids, assertOutsideTransaction } = options;

  function headOf(request: ChatRequest): AnswerHead {
    return { id: `chatcmpl-${ids.uuid()}`, created: Math.floor(clock.now() / 1000), model: request.model };
  }

  function prepare({ store: _, ...request }: ClientRequest) {
    const errors = conversationProblems(request.messages);
    if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
    const model = models.resolve(request.model);
    assertOutsideTransaction('a model call');
    return { model, request };
  }

  return {
    async complete(clientRequest, context) {
      const { model, request } = prepare(clientRequest);
      const { choices, usage, service_tier, system_fingerprint } = await model.complete(request, context);
      return {
        ...headOf(request),
        object: 'chat.completion',
        choices,
        usage: usage ?? undefined,
        service_tier,
        system_fingerprint,
      };
    },
    async stream(clientRequest, context) {
      const { model, request } = prepare(clientRequest);
      const chunks = model.stream(request, context)[Symbol.asyncIterator]();
      const first = await chunks.next();
      if (first.done) throw ModelErrors.upstream('The model provider gave an empty answer.');
      const rewriter = createChunkRewriter(headOf(request), request.stream_options?.include_usage === true);
      return async (sink) => {
        await forward(first, chunks, rewriter.next, sink);
        const usage = rewriter.end();
        if (usage !== undefined) await sink.data(usage);
        await sink.data('[DONE]');
      };
    },
  };
}

/** Hands chunks on at the reader's pace. However it ends, the provider's call has ended with it. */
async function forward(
  first: IteratorResult<ChatChunk>,
  chunks: AsyncIterator<ChatChunk>,
  rewrite: (chunk: ChatChunk) => string | undefined,
  sink: EventSink,
): Promise<void> {
  try {
    for (let result = first; !result.done; result = await chunks.next()) {
      const text = rewrite(result.value);
      if (text === undefined) continue;
      const slow = sink.data(text);
      if (slow !== undefined) await slow;
    }
  } finally {
    await chunks.return?.();
  }
}
