import type { ServerResponse } from 'node:http';
import { KernelErrors } from '../base/error-catalogue.ts';

/** The writing end of a server-sent event stream. The kernel owns heartbeat, backpressure and the end. */
export interface SseStream {
  /** Sends one event. Await the result when it is a promise: the client reads slower than you write. */
  send(event: SseEvent): Promise<void> | undefined;
  /** Sends `data: <text>` without a name, the cheapest form; `text` must hold no line break. */
  data(text: string): Promise<void> | undefined;
  /** Aborts when the client is gone, too slow, or the plugin's drain time is over. */
  readonly signal: AbortSignal;
}

/** One server-sent event; `data` may hold line breaks (several `data:` lines are sent). */
export interface SseEvent {
  readonly event?: string;
  readonly id?: string;
  readonly data: string;
}

/** Times of an event stream, in milliseconds. */
export interface SseTimes {
  /** After so much silence a comment line is sent, so that proxies keep the connection. */
  readonly heartbeat: number;
  /** A client that takes nothing for so long is given up. */
  readonly slowClient: number;
}

const LINE_BREAK = /\r\n|\n|\r/;

/**
 * Writes server-sent events to a response, with a heartbeat, and with backpressure: while the client does not read, the
 * writer's caller waits, and after `slowClient` the stream is aborted. Nothing is buffered beyond the socket's own
 * mark.
 */
export class SseWriter implements SseStream {
  readonly signal: AbortSignal;
  readonly #response: ServerResponse;
  readonly #times: SseTimes;
  readonly #abort: (reason: Error) => void;
  readonly #heartbeat: NodeJS.Timeout;
  #draining: Promise<void> | undefined;

  constructor(
    response: ServerResponse,
    signal: AbortSignal,
    abort: (reason: Error) => void,
    times: SseTimes,
  ) {
    this.#response = response;
    this.signal = signal;
    this.#abort = abort;
    this.#times = times;
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeat);
    this.#heartbeat.unref();
  }

  send(event: SseEvent): Promise<void> | undefined {
    let text = '';
    if (event.event !== undefined) text += `event: ${singleLine(event.event)}\n`;
    if (event.id !== undefined) text += `id: ${singleLine(event.id)}\n`;
    for (const line of event.data.split(LINE_BREAK)) text += `data: ${line}\n`;
    return this.#write(`${text}\n`);
  }

  data(text: string): Promise<void> | undefined {
    return this.#write(`data: ${text}\n\n`);
  }

  /** Ends the response; resolves when its last byte was handed to the system, or the client is gone. */
  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    await this.#draining?.catch(() => {});
    if (response.destroyed) return;
    response.end();
  }

  #write(text: string): Promise<void> | undefined {
    if (this.signal.aborted) return Promise.reject(this.signal.reason);
    // Silence begins anew.
    this.#heartbeat.refresh();
    if (this.#response.write(text)) return undefined;
    this.#draining ??= this.#drained();
    return this.#draining;
  }

  async #drained(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const tooSlow = setTimeout(() => {
      const reason = KernelErrors.clientClosed('The client reads too slowly');
      this.#abort(reason);
      this.#response.destroy();
      reject(reason);
    }, this.#times.slowClient);
    const gone = () => reject(this.signal.reason ?? KernelErrors.clientClosed());
    this.#response.once('drain', resolve);
    this.#response.once('close', gone);
    try {
      await promise;
    } finally {
      clearTimeout(tooSlow);
      this.#response.off('drain', resolve);
      this.#response.off('close', gone);
      this.#draining = undefined;
    }
  }

  #beat(): void {
    // A client that is not reading gets no pings either: they would only pile up.
    if (!this.#response.writableNeedDrain) this.#response.write(': ping\n\n');
  }
}

/** A line break in a name would start a field of its own. */
function singleLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
