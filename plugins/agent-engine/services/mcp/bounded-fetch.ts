import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from 'agent-gateway';
import type { Dispatcher, RequestInit as UndiciInit } from 'undici';

/** The longest end of an event: `\r\n\r\n`. */
const END_BYTES = 4;
/** What ends an event of an event stream. */
const ENDS = ['\n\n', '\r\n\r\n', '\r\r'];

/** What is read of event streams at once, and in each further second: events, and as much for each `UNIT` of bytes. */
const BURST = 4_000;
const PER_SECOND = 500;
const UNIT = 4 * 1024;

/** What the `fetch` of a connection is made with. */
export interface BoundedFetchParts {
  /** Of one message. */
  readonly maxBytes: number;
  /** Told before the answer fails, in the asynchronous context of the request. */
  readonly onTooLong: () => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The connections to the server; they have no deadlines for answers. */
  readonly connect: () => Promise<Dispatcher>;
  /** Waits for so many milliseconds; does not keep the process running. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

const pauseFor = (ms: number) => pause(ms, undefined, { ref: false });

/**
 * Makes the `fetch` of a connection. An answer fails, and closes its connection, once one message is too long: an
 * answer as a whole, of an event stream one event. The library reads a message into memory before it looks at it. Of
 * event streams no more is read than `BURST` and `PER_SECOND` say, or a server that sends messages without end would
 * occupy the process: it has to wait.
 */
export function boundedFetch({ maxBytes, onTooLong, clock, connect, wait = pauseFor }: BoundedFetchParts) {
  const waitFor = createPace(clock);
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const tell = AsyncLocalStorage.bind(onTooLong);
    // Node's own `fetch` gives up a server that is silent for five minutes: less than a call of a tool may take.
    const [{ fetch }, dispatcher] = await Promise.all([import('undici'), connect()]);
    const response = (await fetch(url, { ...(init as UndiciInit), dispatcher })) as unknown as Response;
    // Redirects are followed, or refused, by the library, which does not read them.
    if (response.body === null || (response.status >= 300 && response.status < 400)) return response;
    const type = response.headers.get('content-type') ?? '';
    const measure = /^text\/event-stream\b/i.test(type) ? measureEvents() : measureWhole();
    const bound = new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        const { bytes, cost } = measure(chunk);
        if (bytes <= maxBytes) {
          const ms = waitFor(cost);
          if (ms > 0) await wait(ms);
          return controller.enqueue(chunk);
        }
        tell();
        controller.error(new Error(`The MCP server sent a message of more than ${maxBytes} bytes.`));
      },
    });
    return new Response(response.body.pipeThrough(bound), response);
  };
}

/** The milliseconds that the next piece of this cost has to wait. */
function createPace(clock: Pick<Clock, 'monotonic'>) {
  let owed = 0;
  let at = clock.monotonic();
  return (cost: number): number => {
    const now = clock.monotonic();
    owed = Math.max(0, owed - ((now - at) / 1000) * PER_SECOND) + cost;
    at = now;
    return Math.max(0, ((owed - BURST) / PER_SECOND) * 1000);
  };
}

/** The bytes of the message so far, and what this piece of it costs. */
type Measure = (chunk: Uint8Array) => { readonly bytes: number; readonly cost: number };

/** An answer costs nothing: there is one for each request. */
function measureWhole(): Measure {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    return { bytes, cost: 0 };
  };
}

/**
 * The bytes since the last event ended; of several events in one chunk only the last one counts, since a chunk is
 * short.
 */
function measureEvents(): Measure {
  let bytes = 0;
  let before = Buffer.alloc(0);
  return (chunk) => {
    // The end of an event may lie in two chunks.
    const text = Buffer.concat([before, chunk]);
    const places = ENDS.map((end) => placesOf(end, text, before.length));
    const last = Math.max(...places.map((ends) => ends.at(-1) ?? -1));
    bytes = last >= 0 ? text.length - last : bytes + chunk.length;
    before = text.subarray(-(END_BYTES - 1));
    return { bytes, cost: places.flat().length + chunk.length / UNIT };
  };
}

/** Where this end begins, but those that lie within the first bytes, which were looked at before. */
function placesOf(end: string, text: Buffer, seen: number): readonly number[] {
  const places: number[] = [];
  const from = Math.max(0, seen - end.length + 1);
  for (let at = text.indexOf(end, from); at >= 0; at = text.indexOf(end, at + end.length)) places.push(at);
  return places;
}
