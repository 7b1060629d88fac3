import { type Clock, type Ids, requireSound, withFirst } from 'agent-gateway';
import {
  type ChatCall,
  type ChatChunk,
  type ChatCompletion,
  type ChatMessage,
  type ChatRequest,
  type Conversation,
  type Conversations,
  composeConversation,
  type Guard,
  type Model,
  type ModelCallContext,
  ModelErrors,
  type ModelInfo,
  type Models,
  redactValue,
  STREAM_BEGINS_MS,
  type Usage,
  withPreamble,
} from '../../../agent-engine/contract.ts';
import { beginSpan, type CallSpan, type Metering } from '../../../records/contract.ts';
import { type Answered, DONE, type EventSink, type SendAnswer } from './chat-call.ts';
import { answerHead, type ChunkWriter, createChunkWriter } from './chunk-writer.ts';
import { guardedChoices, keptAnswer } from './guarded-answer.ts';
import { createGuardedChunks, type GuardedChunks } from './guarded-chunks.ts';
import { requestProblems } from './request-problems.ts';

/** A request as clients send it: `store` is meant for the gateway, not for the provider. */
export type ClientRequest = ChatRequest & { readonly store?: boolean | null };

/**
 * A request as its provider gets it. OpenAI keeps `metadata` with what it stores, and refuses them with anything else:
 * with `store: true`, which stays here, they stay here, too. Pure.
 */
export function forProvider<Request extends Partial<ClientRequest>>(request: Request): Request {
  const { store, ...own } = request;
  if (store !== true) return own as Request;
  const { metadata: _, ...rest } = own;
  return rest as unknown as Request;
}

/** The dependencies of `createChatCompletions`. */
export interface ChatParts {
  readonly models: Models;
  readonly conversations: Conversations;
  readonly guard: Guard;
  readonly metering: Metering;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A call of the model, ready to be made. */
interface Asked {
  readonly model: Model;
  readonly request: ChatRequest;
  readonly context: ModelCallContext;
  readonly conversation: Conversation;
  /** Ends the span of the call, which begins when everything is ready for it. */
  readonly endSpan: () => CallSpan;
  /** The model that answers, fallbacks included; known once it does. */
  answeredBy: ModelInfo;
}

/** Chat completions as OpenAI's API gives them (specification 1, Chat; decisions 1.6). */
export type ChatCompletions = ReturnType<typeof createChatCompletions>;

/** Makes the service. */
export function createChatCompletions(parts: ChatParts) {
  const { models, conversations, guard, metering, clock } = parts;

  async function ask(clientRequest: ClientRequest, call: ChatCall): Promise<Asked> {
    const request = forProvider(clientRequest);
    requireSound(requestProblems(request));
    const model = models.resolve(request.model);
    const conversation = await conversations.open(call, {
      messages: request.messages,
      store: clientRequest.store !== false,
      agent: undefined,
      model: request.model,
      contextLength: model.info.context_length,
    });
    const messages = withPreamble(
      conversation.preamble,
      composeConversation(conversation.history, conversation.messages),
    );
    const asked: Asked = {
      model,
      request: { ...request, messages },
      context: {
        signal: conversation.signal,
        tenantId: call.principal.tenantId,
        requestId: call.requestId,
        traceHeaders: call.traceHeaders,
        answeredBy: (info) => {
          asked.answeredBy = info;
        },
      },
      conversation,
      endSpan: beginSpan(call, clock),
      answeredBy: model.info,
    };
    return asked;
  }

  /** Writes the turn and returns what it consumed, as the client sees it. */
  async function keep(asked: Asked, answer: ChatMessage, counted: Usage | null | undefined): Promise<Usage> {
    const { model, request, conversation, answeredBy } = asked;
    const { use, usage } = metering.measure({
      alias: model.info.id,
      answeredBy,
      usage: counted ?? undefined,
      request,
      answer,
      span: asked.endSpan(),
    });
    const messages = [keptAnswer(answer, answeredBy)];
    await conversation.keep({ model: model.info.id, source: 'chat', messages, uses: [use] });
    return usage;
  }

  /** The whole answer. Throws `model_not_found`, and the errors of the model port, the sessions and the guardrails. */
  async function complete(clientRequest: ClientRequest, call: ChatCall): Promise<Answered<ChatCompletion>> {
    const asked = await ask(clientRequest, call);
    await using conversation = asked.conversation;
    const head = answerHead(clientRequest.model, parts);
    try {
      const completion = await conversation.guards.completion(
        await asked.model.complete(asked.request, asked.context),
      );
      const { choices: raw, usage: counted } = completion;
      const choices = guardedChoices(raw, guard, conversation.secretPrompt, call);
      const usage = await keep(asked, choices[0]!.message, counted);
      return {
        sessionId: conversation.sessionId,
        answer: { object: 'chat.completion', ...head, choices, usage, ...providerNotes(completion, guard) },
      };
    } catch (error) {
      throw conversation.failure(error);
    }
  }

  /**
   * Begins an answer: resolves when its first chunk has arrived, or `STREAM_BEGINS_MS` are over, since an earlier
   * failure can still be reported by an HTTP status.
   */
  async function stream(clientRequest: ClientRequest, call: ChatCall): Promise<Answered<SendAnswer>> {
    const asked = await ask(clientRequest, call);
    const { conversation } = asked;
    const head = answerHead(clientRequest.model, parts);
    const writer = createChunkWriter(head, clientRequest.stream_options?.include_usage === true);
    const guarded = createGuardedChunks(guard, conversation.secretPrompt, call);
    const source = conversation.guards.stream(asked.model.stream(asked.request, asked.context));
    let chunks: AsyncIterable<ChatChunk>;
    try {
      const empty = () => ModelErrors.upstream('The model provider gave an empty answer.');
      chunks = await withFirst(source, empty, STREAM_BEGINS_MS);
    } catch (error) {
      // Noted first: the end of the conversation reports it.
      const failure = conversation.failure(error);
      await conversation[Symbol.asyncDispose]();
      throw failure;
    }
    async function send(sink: EventSink): Promise<void> {
      await using _ = conversation;
      try {
        const counted = await forward(chunks, guarded, guard, writer, sink);
        const held = guarded.end();
        // The end is sent only when the turn is durable.
        const usage = await keep(asked, guarded.message(), counted);
        for (const choices of held) await sink.data(writer.choices(choices));
        const counts = writer.usage(usage);
        if (counts !== undefined) await sink.data(counts);
      } catch (error) {
        throw conversation.failure(error);
      }
    }
    const answer = async (sink: EventSink) => {
      await send(sink);
      await sink.data(DONE);
    };
    return { sessionId: conversation.sessionId, answer };
  }

  return { complete, stream };
}

/** The provider's notes on how it answered. */
function providerNotes(
  { service_tier, system_fingerprint }: ChatCompletion | ChatChunk,
  guard: Guard,
): Pick<ChatChunk, 'service_tier' | 'system_fingerprint'> {
  const notes = { service_tier, system_fingerprint };
  if (service_tier === undefined && system_fingerprint === undefined) return notes;
  return redactValue(notes, guard) as ReturnType<typeof providerNotes>;
}

/** Forwards chunks at the reader's pace. */
async function forward(
  chunks: AsyncIterable<ChatChunk>,
  guarded: GuardedChunks,
  guard: Guard,
  writer: ChunkWriter,
  sink: EventSink,
): Promise<Usage | undefined> {
  let usage: Usage | undefined;
  for await (const chunk of chunks) {
    // Some servers report the running total with every chunk: only the last one counts.
    if (chunk.usage) usage = chunk.usage;
    // Of chunks without choices only the usage is meant for clients; the others are a provider's notices.
    const choices = chunk.choices.length === 0 ? undefined : guarded.next(chunk.choices);
    if (choices === undefined) continue;
    const slow = sink.data(writer.choices(choices, providerNotes(chunk, guard)));
    if (slow !== undefined) await slow;
  }
  return usage;
}
