import type { LockRequest } from './lock-request.ts';

/** How long one caller waits: until its time is over, its signal aborts, or the locks are closed. */
export class Patience {
  readonly #end = Promise.withResolvers<never>();
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.end(this.#signal?.reason);
  #isOver = false;
  #reason: unknown;

  /** @param timedOut makes the error of a wait that took too long */
  constructor({ wait, signal }: Pick<LockRequest, 'wait' | 'signal'>, timedOut: () => Error) {
    this.#signal = signal;
    this.#end.promise.catch(() => {}); // it may end while nobody waits
    this.#timer = setTimeout(() => this.end(timedOut()), wait);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted === true) this.#onAbort();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the waiting ended. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Ends the waiting now, with this reason; later ends are without effect. */
  end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#end.reject(reason);
  }

  /** What `work` brings, or a rejection with the reason as soon as the waiting ends. */
  wait<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#end.promise, work]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}
