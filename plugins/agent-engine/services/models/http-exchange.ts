import { setTimeout as startTimer } from 'node:timers';
import type { Dispatcher } from 'undici';

/** The first line and the headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Above this the socket is not read on until the reader has caught up. */
const HIGH_WATER_BYTES = 64 * 1024;
/** How long the rest of a finished body may take before its connection is given up instead of reused. */
const FINISH_MS = 1000;

/**
 * One HTTP request to a provider: its head once, then its body pulled chunk by chunk. It sits directly on undici's
 * dispatch interface because a stream's chunks pass here: no Readable, no promise per chunk that is already there.
 */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<ResponseHead>();
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #reader: PromiseWithResolvers<Buffer | undefined> | undefined;
  #failure: Error | undefined;
  #isEnded = false;
  #isDiscarding = false;
  #finishTimer: NodeJS.Timeout | undefined;
  #onClose: (() => void) | undefined;

  /** @param onClose called once, when undici holds nothing of this request any more */
  constructor(pool: Dispatcher, request: Dispatcher.DispatchOptions, onClose: () => void) {
    this.#onClose = onClose;
    // Every caller awaits `head` or cancels; a cancelled exchange whose `head` is not awaited is no unhandled
    // rejection.
    this.#head.promise.catch(() => {});
    pool.dispatch(request, this);
  }

  /** Resolves when the response begins; rejects with undici's error, or with the reason of `cancel`. */
  get head(): Promise<ResponseHead> {
    return this.#head.promise;
  }

  /** True while `read` would answer without waiting. */
  get isReady(): boolean {
    return this.#queue.length > 0 || this.#isEnded || this.#failure !== undefined;
  }

  /** The next bytes of the body, undefined at its end. One reader at a time. */
  read(): Promise<Buffer | undefined> {
    const chunk = this.#queue.shift();
    if (chunk !== undefined) {
      this.#queuedBytes -= chunk.length;
      if (this.#queue.length === 0) this.#controller?.resume();
      return Promise.resolve(chunk);
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#isEnded) return Promise.resolve(undefined);
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  /** Closes the connection now; pending and later reads reject with `reason`. Does nothing once the body has ended. */
  cancel(reason: Error): void {
    if (this.#isEnded || this.#failure !== undefined) return;
    this.#fail(reason);
    this.#controller?.abort(reason);
  }

  /** Throws the rest of the body away, so that the connection can serve again; gives up soon where it does not end. */
  finish(): void {
    if (this.#isEnded || this.#failure !== undefined) return;
    this.#isDiscarding = true;
    this.#queue.length = 0;
    this.#finishTimer = startTimer(
      () => this.cancel(new Error('the response did not end')),
      FINISH_MS,
    ).unref();
    this.#controller?.resume();
  }

  /** undici: the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(this.#failure);
  }

  /** undici: a response head has arrived. */
  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHead['headers'],
  ): void {
    if (status >= 200) this.#head.resolve({ status, headers });
  }

  /** undici: a piece of the body has arrived. */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isDiscarding) return;
    if (this.#reader !== undefined) {
      this.#reader.resolve(chunk);
      this.#reader = undefined;
      return;
    }
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= HIGH_WATER_BYTES) controller.pause();
  }

  /** undici: the body is complete. */
  onResponseEnd(): void {
    this.#isEnded = true;
    clearTimeout(this.#finishTimer);
    this.#reader?.resolve(undefined);
    this.#close();
  }

  /** undici: connecting, sending or receiving failed, or the request was aborted. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
    this.#close();
  }

  #close(): void {
    this.#onClose?.();
    this.#onClose = undefined;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    clearTimeout(this.#finishTimer);
    this.#head.reject(this.#failure);
    this.#reader?.reject(this.#failure);
    this.#reader = undefined;
  }
}
