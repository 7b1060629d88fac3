import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import { TransientSet } from '../base/transient.ts';

/** `timeout`: not done at its deadline; `stopped`: aborted by a drain; `lost`: another worker has what it worked on. */
export type RunResult = 'ok' | 'failed' | 'timeout' | 'stopped' | 'lost';

/** How a run of a handler ended. */
export interface RunOutcome {
  readonly result: RunResult;
  /** What it threw. */
  readonly failure: unknown;
  /** False for a handler that goes on although its signal was aborted. */
  readonly hasEnded: boolean;
  readonly seconds: number;
}

/** What a handler gets after its deadline before its place is given away. */
const TIMEOUT_GRACE_MS = 5_000;
/** The same when the consumer stops, and when the work is lost. */
const STOP_GRACE_MS = 1_000;

/**
 * The runs of one handler, each with a deadline that does not depend on the handler: one that never ends would
 * otherwise keep its place, and a few of them the whole consumer. Handlers run in the asynchronous context in which
 * this is made, because that of the publisher (its request, its transaction) means nothing to them.
 */
export class HandlerRuns {
  readonly #timeout: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  readonly #running = new TransientSet<Run>();
  #size = 0;
  #whenIdle: (() => void)[] = [];

  /** @param timeout milliseconds until the signal of a run aborts */
  constructor(timeout: number, clock: Pick<Clock, 'monotonic'>) {
    this.#timeout = timeout;
    this.#clock = clock;
  }

  /** How many are under way. */
  get size(): number {
    return this.#size;
  }

  /**
   * Runs `work`, then `finish` with its outcome. Resolves when its place is free again. Rejects with what `finish`
   * throws.
   *
   * @param lost aborts when another worker has the work
   */
  async run(
    work: (signal: AbortSignal) => Promise<void>,
    finish: (outcome: RunOutcome) => void | Promise<void>,
    lost?: AbortSignal,
  ): Promise<void> {
    this.#size += 1;
    try {
      await finish(await this.#run(work, lost));
    } finally {
      this.#size -= 1;
      if (this.#size === 0) {
        for (const resolve of this.#whenIdle) resolve();
        this.#whenIdle = [];
      }
    }
  }

  /**
   * Resolves when nothing is under way; what is left after `milliseconds` is aborted, and left alone a second later.
   */
  async drain(milliseconds: number): Promise<void> {
    if (this.#size === 0) return;
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    if (await endsWithin(milliseconds, idle)) return;
    for (const run of this.#running) run.abort('stopped', STOP_GRACE_MS);
    await idle;
  }

  async #run(
    work: (signal: AbortSignal) => Promise<void>,
    lost: AbortSignal | undefined,
  ): Promise<RunOutcome> {
    const run = new Run(this.#timeout);
    this.#running.add(run);
    const onLost = () => run.abort('lost', STOP_GRACE_MS);
    lost?.addEventListener('abort', onLost, { once: true });
    const began = this.#clock.monotonic();
    let failure: unknown;
    let didFail = false;
    const working = this.#inOwnContext(async () => work(run.signal)).catch((error: unknown) => {
      failure = error;
      didFail = true;
    });
    const hasEnded = await run.ended(working);
    lost?.removeEventListener('abort', onLost);
    this.#running.delete(run);
    const seconds = (this.#clock.monotonic() - began) / 1000;
    return { result: run.resultOf(didFail || !hasEnded), failure, hasEnded, seconds };
  }
}

type AbortReason = Exclude<RunResult, 'ok' | 'failed'>;

/** One run: its signal, and when its place is free again. */
class Run {
  readonly #controller = new AbortController();
  readonly #overdue = Promise.withResolvers<false>();
  #timer: NodeJS.Timeout;
  #reason: AbortReason | undefined;

  constructor(timeout: number) {
    this.#timer = setTimeout(() => this.abort('timeout', TIMEOUT_GRACE_MS), timeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the work ended before it was given up. */
  async ended(work: Promise<void>): Promise<boolean> {
    const hasEnded = await Promise.race([work.then(() => true), this.#overdue.promise]);
    clearTimeout(this.#timer);
    return hasEnded;
  }

  /** A handler that ends well although it was aborted has done its work. */
  resultOf(didFail: boolean): RunResult {
    return didFail ? (this.#reason ?? 'failed') : 'ok';
  }

  abort(reason: AbortReason, grace: number): void {
    this.#reason ??= reason;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#overdue.resolve(false), grace);
    this.#controller.abort(new DOMException(`The delivery was aborted: ${reason}`, 'AbortError'));
  }
}
