import { type GatewayError, withFirst } from 'agent-gateway';
import { STREAM_BEGINS_MS } from '../../../agent-engine/contract.ts';

/** An answer, and the session to which it belongs; without a session nothing was stored. */
export interface Answered<T> {
  readonly sessionId: string | undefined;
  readonly answer: T;
}

/**
 * The receiver of a streamed answer. Where a method returns a promise, the writer has to wait for the slower reader.
 */
export interface EventSink {
  /** Sends the text of one event. */
  data(text: string): Promise<void> | undefined;
  /** Sends a named event. */
  send(event: { readonly event: string; readonly data: string }): Promise<void> | undefined;
}

/**
 * The text after which clients of OpenAI close. It is sent when the session is free for the next turn, and nothing is
 * left to do but to end the response.
 */
export const DONE = '[DONE]';

/** Sends a streamed answer; must be called exactly once. Throws the error that broke the stream. */
export type SendAnswer = (sink: EventSink) => Promise<void>;

/**
 * Begins a streamed answer from the output of a model or an agent, once its first item has arrived, or
 * `STREAM_BEGINS_MS` are over: an earlier failure can still be reported by an HTTP status. Disposes of the
 * conversation, and with it of the source, when the answer has ended, and sends `DONE`. `failure` makes the error to be
 * thrown.
 */
export async function streamed<T>(
  conversation: AsyncDisposable & { readonly sessionId: string | undefined },
  source: AsyncIterable<T>,
  send: (items: AsyncIterable<T>, sink: EventSink) => Promise<void>,
  { empty, failure }: { empty: () => GatewayError; failure: (thrown: unknown) => unknown },
): Promise<Answered<SendAnswer>> {
  let items: AsyncIterable<T>;
  try {
    items = await withFirst(source, empty, STREAM_BEGINS_MS);
  } catch (error) {
    await conversation[Symbol.asyncDispose]();
    throw failure(error);
  }
  async function sendAll(sink: EventSink): Promise<void> {
    await using _ = conversation;
    try {
      await send(items, sink);
    } catch (error) {
      throw failure(error);
    }
  }
  async function answer(sink: EventSink): Promise<void> {
    await sendAll(sink);
    await sink.data(DONE);
  }
  return { sessionId: conversation.sessionId, answer };
}
