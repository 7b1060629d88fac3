import type { Readable } from 'node:stream';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { SseEvent, SseStream } from '../../foundation/http/sse-writer.ts';

/** Headers of an answer; a list is sent as so many headers of one name (`set-cookie`). */
export type ReplyHeaders = Readonly<Record<string, string | string[]>>;

/** A finished answer, where a plain value with status 200 is not enough. RangeError for a status outside 200 to 599. */
export class Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: ReplyBody;

  constructor(status: number, body: ReplyBody, headers: ReplyHeaders = {}) {
    if (!Number.isInteger(status) || status < 200 || status > 599)
      throw new RangeError(`A reply has a status from 200 to 599, not ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** `json` is serialized once, by the kernel; `bytes` and `stream` go out as they are. */
export type ReplyBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly value: string | Buffer }
  | { readonly kind: 'stream'; readonly value: Readable }
  | {
      readonly kind: 'sse';
      readonly run: (stream: SseStream) => Promise<void>;
      readonly failure?: (error: GatewayError) => SseEvent;
    };

/**
 * Makes replies by name. Text and streams get the route's `answerType`; `type` is for answers that differ. An answer
 * with a stream begins with its first byte: what fails before is answered as what a handler throws.
 */
export const reply = {
  json: (status: number, value: unknown, headers?: ReplyHeaders) =>
    new Reply(status, { kind: 'json', value }, headers),
  created: (value: unknown, headers?: ReplyHeaders) => new Reply(201, { kind: 'json', value }, headers),
  empty: (status = 204, headers?: ReplyHeaders) => new Reply(status, { kind: 'empty' }, headers),
  text: (value: string, type?: string, headers?: ReplyHeaders) =>
    new Reply(200, { kind: 'bytes', value }, typed(type, headers)),
  stream: (value: Readable, type?: string, headers?: ReplyHeaders) =>
    new Reply(200, { kind: 'stream', value }, typed(type, headers)),
  /**
   * Answers with `text/event-stream`. The response starts when `run` is entered, which HEAD never does; an error it
   * throws becomes the event `error` in the route's dialect, followed by `data: [DONE]`; or, where a format has one of
   * its own, what `failure` makes of it, and nothing else.
   */
  sse: (
    run: (stream: SseStream) => Promise<void>,
    headers?: ReplyHeaders,
    failure?: (error: GatewayError) => SseEvent,
  ) => new Reply(200, { kind: 'sse', run, ...(failure && { failure }) }, headers),
} as const;

function typed(type: string | undefined, headers?: ReplyHeaders): ReplyHeaders {
  return { ...(type === undefined ? {} : { 'content-type': type }), ...headers };
}
