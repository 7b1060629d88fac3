import { backoffDelay } from 'agent-gateway';
import type { RunnerParts } from './runner.ts';

/** Milliseconds before the next try after the first failure to register a worker again. */
const FIRST_REJOIN_MS = 100;

/**
 * The lease of this process as a worker, renewed three times in its length. By the database's clock a lease begins when
 * the database gets the message; this process counts from before it was sent, so that it never considers its lease
 * valid when it has expired. The name of an expired lease is never used again, so that work that was claimed under it
 * cannot be mistaken for current work.
 */
export class WorkerLease {
  readonly #parts: RunnerParts;
  readonly #ended: () => void;
  readonly #leaseMs: number;
  #worker: string | undefined;
  /** On the monotonic clock. */
  #validUntil = 0;
  #isStopped = false;
  #failures = 0;
  #cancelBeat = () => {};
  #cancelEnd = () => {};

  /** @param ended called when the lease is over: other workers may have taken what this worker owned */
  constructor(parts: RunnerParts, ended: () => void) {
    this.#parts = parts;
    this.#ended = ended;
    this.#leaseMs = parts.limits.leaseMs;
  }

  /** The name to claim under. Undefined while there is no lease: nothing may be claimed. */
  get worker(): string | undefined {
    return this.#parts.timers.monotonic() < this.#validUntil ? this.#worker : undefined;
  }

  /** Stops renewing, and never joins again. Returns the name that is still known to the database, if any. */
  stop(): string | undefined {
    this.#isStopped = true;
    this.#cancelBeat();
    this.#cancelEnd();
    const worker = this.#worker;
    this.#worker = undefined;
    return worker;
  }

  /** Registers the worker. Rejects when the database does not answer. */
  async join(): Promise<void> {
    const { store, timers, newId } = this.#parts;
    const worker = newId();
    const sent = timers.monotonic();
    await store.join(worker, this.#leaseMs);
    if (this.#isStopped) return;
    this.#worker = worker;
    this.#failures = 0;
    this.#isAliveSince(sent);
  }

  #isAliveSince(sent: number): void {
    const { timers } = this.#parts;
    const now = timers.monotonic();
    this.#validUntil = sent + this.#leaseMs;
    this.#beatAfter(sent + this.#leaseMs / 3 - now);
    // Independent of the heartbeats, which may hang.
    this.#cancelEnd();
    this.#cancelEnd = timers.after(Math.max(0, this.#validUntil - now), () => this.#end());
  }

  #beatAfter(ms: number): void {
    this.#cancelBeat();
    this.#cancelBeat = this.#parts.timers.after(Math.max(0, ms), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const { store, timers, log } = this.#parts;
    const worker = this.#worker;
    if (worker === undefined) return;
    const sent = timers.monotonic();
    try {
      const isRenewed = await store.renew(worker, this.#leaseMs);
      if (this.#worker !== worker) return;
      this.#failures = 0;
      if (isRenewed) this.#isAliveSince(sent);
      else this.#end();
    } catch (error) {
      if (this.#worker !== worker) return;
      this.#failures += 1;
      if (this.#failures === 1)
        log.warn({ err: error, worker }, 'the lease of the worker could not be renewed');
      this.#beatAfter(this.#leaseMs / 10);
    }
  }

  #end(): void {
    const worker = this.#worker;
    this.#cancelBeat();
    this.#cancelEnd();
    this.#worker = undefined;
    this.#failures = 0;
    this.#parts.log.warn({ worker }, 'the lease of the worker is over: its steps go to others');
    this.#ended();
    void this.#rejoin();
  }

  async #rejoin(): Promise<void> {
    const { log, timers } = this.#parts;
    if (this.#isStopped) return;
    try {
      await this.join();
      if (!this.#isStopped) log.info({ worker: this.#worker }, 'the worker is back under a new name');
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === 1) log.warn({ err: error }, 'the worker could not be made known again');
      if (this.#isStopped) return;
      const delay = backoffDelay(this.#failures, { first: FIRST_REJOIN_MS, most: this.#leaseMs / 3 });
      this.#cancelBeat = timers.after(delay, () => void this.#rejoin());
    }
  }
}
