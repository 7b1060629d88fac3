import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { within } from '../../base/deadline.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import type { EventListener, EventMeta } from './events.ts';

/** An event on its way to the listeners. */
export interface Delivery {
  /** JSON of the payload. */
  readonly body: string;
  readonly origin: EventMeta['origin'];
  /** The schema that the payload is known to fit; `undefined` for one from another replica. */
  readonly fits: TSchema | undefined;
}

/** What one listener's queue needs. */
export interface ListenerQueueOptions {
  /** Names the event in errors. */
  readonly event: string;
  readonly schema: TSchema;
  readonly listener: EventListener<unknown>;
  /** Deliveries that wait at most. */
  readonly bound: number;
  /** Milliseconds that the listener may take before it gets the next event. */
  readonly deadline: number;
  /** The oldest delivery was dropped. */
  readonly onOverflow: () => void;
  /** A payload that the listener cannot be given. */
  readonly onUnfit: (problem: string) => void;
  /** The listener threw, rejected or took too long. */
  readonly onFailure: (error: unknown) => void;
}

/** Deliveries after which other work of the process gets its turn. */
const PER_TURN = 64;

/** Gives events to one listener: in order, one at a time, never within the call that emits. */
export class ListenerQueue {
  readonly #options: ListenerQueueOptions;
  readonly #waiting: Delivery[] = [];
  #isRunning = false;

  constructor(options: ListenerQueueOptions) {
    this.#options = options;
  }

  push(delivery: Delivery): void {
    if (this.#waiting.length >= this.#options.bound) {
      this.#waiting.shift();
      this.#options.onOverflow();
    }
    this.#waiting.push(delivery);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void this.#run());
  }

  /** The listener is not called any more, not even for what waits. */
  end(): void {
    this.#waiting.length = 0;
  }

  async #run(): Promise<void> {
    for (let count = 1; ; count += 1) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      await this.#deliver(next);
      if (count % PER_TURN === 0) await nextTurn();
    }
    this.#isRunning = false;
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { event, listener, deadline, onFailure, onUnfit } = this.#options;
    const read = this.#read(delivery);
    if ('problem' in read) return onUnfit(read.problem);
    try {
      const outcome = listener(read.payload, { origin: delivery.origin });
      if (outcome !== undefined) await within(deadline, `a listener to ${event}`, outcome);
    } catch (error) {
      onFailure(error);
    }
  }

  /** Read anew for each listener, so that none can change what another one gets. */
  #read({ body, fits }: Delivery): { readonly payload: unknown } | { readonly problem: string } {
    const { schema } = this.#options;
    try {
      const payload: unknown = JSON.parse(body);
      // Two generations of a plugin may differ in their schema.
      const found = fits === schema ? undefined : payloadProblem(schema, payload);
      return found === undefined ? { payload } : { problem: found };
    } catch {
      return { problem: 'is not JSON' };
    }
  }
}
