import { type GatewayError, withFirst } from 'agent-gateway';

/** An answer and the session that it belongs to; without one nothing was stored. */
export interface Answered<T> {
  readonly sessionId: string | undefined;
  readonly answer: T;
}

/** Where a streamed answer goes. A promise means: wait, the reader is slower. */
export interface EventSink {
  /** Sends the text of one event. */
  data(text: string): Promise<void> | undefined;
  /** Sends a named event. */
  send(event: { readonly event: string; readonly data: string }): Promise<void> | undefined;
}

/** Sends a streamed answer; has to be called, once. Throws what broke the stream. */
export type SendAnswer = (sink: EventSink) => Promise<void>;

/**
 * Begins a streamed answer out of what a model or an agent tells, once the first of it is there: what fails before can still be reported by a
 * status. Disposes of the conversation when the answer has ended, and of the source with it. `failure` makes the error to be thrown.
 */
export async function streamed<T>(
  conversation: AsyncDisposable & { readonly sessionId: string | undefined },
  source: AsyncIterable<T>,
  send: (told: AsyncIterable<T>, sink: EventSink) => Promise<void>,
  { empty, failure }: { empty: () => GatewayError; failure: (thrown: unknown) => unknown },
): Promise<Answered<SendAnswer>> {
  let told: AsyncIterable<T>;
  try {
    told = await withFirst(source, empty);
  } catch (error) {
    await conversation[Symbol.asyncDispose]();
    throw failure(error);
  }
  async function answer(sink: EventSink): Promise<void> {
    await using _ = conversation;
    try {
      await send(told, sink);
    } catch (error) {
      throw failure(error);
    }
  }
  return { sessionId: conversation.sessionId, answer };
}
