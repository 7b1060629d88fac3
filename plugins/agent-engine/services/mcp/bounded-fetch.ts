import { AsyncLocalStorage } from 'node:async_hooks';

/** The longest end of an event: `\r\n\r\n`. */
const END_BYTES = 4;
/** What ends an event of an event stream. */
const ENDS = ['\n\n', '\r\n\r\n', '\r\r'];

/**
 * Makes a `fetch` whose answers fail, and close their connection, once one message is too long: an answer as a whole,
 * of an event stream one event. The library reads a message into memory before it looks at it.
 *
 * @param onTooLong is told before the answer fails, in the asynchronous context of the request
 */
export function boundedFetch(maxBytes: number, onTooLong: () => void) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const tell = AsyncLocalStorage.bind(onTooLong);
    const response = await fetch(url, init);
    // Redirects are followed, or refused, by the library, which does not read them.
    if (response.body === null || (response.status >= 300 && response.status < 400)) return response;
    const type = response.headers.get('content-type') ?? '';
    const bytesOf = /^text\/event-stream\b/i.test(type) ? eventBytes() : allBytes();
    const bound = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (bytesOf(chunk) <= maxBytes) return controller.enqueue(chunk);
        tell();
        controller.error(new Error(`The MCP server sent a message of more than ${maxBytes} bytes.`));
      },
    });
    return new Response(response.body.pipeThrough(bound), response);
  };
}

/** The bytes so far. */
function allBytes() {
  let bytes = 0;
  return (chunk: Uint8Array): number => {
    bytes += chunk.length;
    return bytes;
  };
}

/**
 * The bytes since the last event ended; of several events in one chunk only the last one counts, since a chunk is
 * short.
 */
function eventBytes() {
  let bytes = 0;
  let before = Buffer.alloc(0);
  return (chunk: Uint8Array): number => {
    // The end of an event may lie in two chunks.
    const text = Buffer.concat([before, chunk]);
    const ends = ENDS.map((end) => text.lastIndexOf(end)).filter((at) => at >= 0);
    bytes = ends.length > 0 ? text.length - Math.max(...ends) : bytes + chunk.length;
    before = text.subarray(-(END_BYTES - 1));
    return bytes;
  };
}
