import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../observability/logger.ts';
import { endsWithin } from './ends-within.ts';
import { decodePayload } from './message.ts';
import type { DeliveryResult, MessageHandler, QueueObserver, QueueRef } from './queue.ts';

/** The messages that one consumer has in hand. */
export interface Deliveries {
  /** How many are in hand. */
  readonly size: number;
  /** Hands one message to the handler. Never rejects; resolves when its place is free again. */
  start(id: string, text: unknown): Promise<void>;
  /** Resolves when nothing is in hand; what is left after `milliseconds` is aborted, and left alone a second later. */
  drain(milliseconds: number): Promise<void>;
}

export interface DeliveriesOptions<T> {
  readonly queue: QueueRef<T>;
  readonly handle: MessageHandler<T>;
  /** Milliseconds until the signal of a delivery aborts. */
  readonly timeout: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observe: QueueObserver;
}

/** What a handler gets after its deadline before its place is given away. */
const TIMEOUT_GRACE_MS = 5_000;
/** The same when the consumer stops. */
const STOP_GRACE_MS = 1_000;

/**
 * Runs handlers, each with a deadline that does not depend on the handler: one that never ends would otherwise keep its place,
 * and a few of them the whole consumer. Handlers run in the asynchronous context in which this is called, because that of
 * the publisher (its request, its transaction) means nothing to them.
 */
export function createDeliveries<T>(options: DeliveriesOptions<T>): Deliveries {
  const { queue, handle, timeout, clock, observe } = options;
  const log = options.log.child({ queue: queue.id });
  const inOwnContext = AsyncLocalStorage.snapshot();
  const inHand = new Set<Delivery>();
  let whenIdle: (() => void)[] = [];

  async function run(id: string, payload: T): Promise<void> {
    const delivery = new Delivery(timeout);
    inHand.add(delivery);
    const began = clock.monotonic();
    const messageLog = log.child({ message_id: id });
    let failure: unknown;
    let didFail = false;
    const work = inOwnContext(async () =>
      handle(payload, { id, signal: delivery.signal, log: messageLog }),
    ).catch((error: unknown) => {
      failure = error;
      didFail = true;
    });
    const hasEnded = await delivery.run(work);
    inHand.delete(delivery);
    const result = delivery.resultOf(didFail || !hasEnded);
    observe.delivered(queue.id, result, (clock.monotonic() - began) / 1000);
    if (!hasEnded) messageLog.error('a queue handler goes on after its signal was aborted');
    else if (result === 'failed') messageLog.error({ err: failure }, 'a queue handler failed');
    else if (result !== 'ok') messageLog.warn({ err: failure, result }, 'a queue handler was aborted');
  }

  return {
    get size() {
      return inHand.size;
    },

    async start(id, text) {
      let payload: T;
      try {
        payload = decodePayload(queue, text);
      } catch (error) {
        observe.delivered(queue.id, 'invalid', 0);
        log.warn({ err: error, message_id: id }, 'a message that does not fit its queue was dropped');
        return;
      }
      await run(id, payload);
      if (inHand.size > 0) return;
      for (const tell of whenIdle) tell();
      whenIdle = [];
    },

    async drain(milliseconds) {
      if (inHand.size === 0) return;
      const idle = new Promise<void>((resolve) => whenIdle.push(resolve));
      if (await endsWithin(milliseconds, idle)) return;
      for (const delivery of inHand) delivery.stop();
      await idle;
    },
  };
}

/** One message in hand: its signal, and when its place is free again. */
class Delivery {
  readonly #controller = new AbortController();
  readonly #overdue = Promise.withResolvers<false>();
  #timer: NodeJS.Timeout;
  #reason: 'timeout' | 'stopped' | undefined;

  constructor(timeout: number) {
    this.#timer = setTimeout(() => this.#abort('timeout', TIMEOUT_GRACE_MS), timeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the work ended before it was given up. */
  async run(work: Promise<void>): Promise<boolean> {
    const hasEnded = await Promise.race([work.then(() => true), this.#overdue.promise]);
    clearTimeout(this.#timer);
    return hasEnded;
  }

  stop(): void {
    this.#abort('stopped', STOP_GRACE_MS);
  }

  /** A handler that ends well although it was aborted has done its work. */
  resultOf(didFail: boolean): DeliveryResult {
    return didFail ? (this.#reason ?? 'failed') : 'ok';
  }

  #abort(reason: 'timeout' | 'stopped', grace: number): void {
    this.#reason ??= reason;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#overdue.resolve(false), grace);
    this.#controller.abort(new DOMException(`The delivery was aborted: ${reason}`, 'AbortError'));
  }
}
