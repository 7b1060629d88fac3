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
