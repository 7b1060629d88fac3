import type { Logger } from '../../observability/logger.ts';
import type { QueueRef } from './queue-ref.ts';

/**
 * Hints between the parts of a gateway and its replicas. The database is the only truth: losing every message costs time,
 * never data, because each consumer also finds its work in its own tables.
 *
 * A message is mostly delivered once, at the time it is due, roughly in the order of publishing. It may be lost, come
 * twice, or reach a consumer while another still works on the message before; consumers bear all of it.
 */
export interface Queue {
  /**
   * Hands a hint over. True when a consumer will see it; false when the queue is full, away or not there (the consumer's
   * sweeper finds the work). Answers within 1 s and never rejects for an outage. After `false` the hint may still arrive.
   *
   * @throws queue.payload-invalid, queue.payload-too-large, queue.id-invalid, queue.option-invalid (`delay`)
   * @throws an error inside a database transaction: publish after the commit, or the consumer looks too early
   */
  publish<T>(queue: QueueRef<T>, payload: T, options?: PublishOptions): Promise<boolean>;
  /**
   * Calls `handle` for each message until it is stopped. A handler that fails is logged and counted, and its message is gone.
   * It runs in the asynchronous context of this call, not in that of the publisher.
   *
   * @throws queue.option-invalid, queue.closed
   */
  consume<T>(queue: QueueRef<T>, handle: MessageHandler<T>, options?: ConsumeOptions): QueueConsumer;
  /** False with the sweeper-only form: nothing that is published arrives. */
  readonly delivers: boolean;
  /** What carries the messages. */
  readonly form: QueueForm;
  /** Stops all consumers, with 5 s for what they have in hand, and lets go of connections. Ends within 10 s. */
  close(): Promise<void>;
}

/** In this process, Redis, PostgreSQL, or nothing. */
export type QueueForm = 'process' | 'redis' | 'postgres' | 'sweeper';

/** How a message is published; everything has a default. */
export interface PublishOptions {
  /**
   * Names the message: while one of the same name waits (is delayed, too), it stands for both, and the payload and delay of the
   * later one are dropped. Once a consumer has it in hand, the next one is delivered too, at the latest after the first is done.
   * Letters, digits, `.`, `_` and `-`, 128 at most. Default: a new UUID.
   */
  readonly id?: string;
  /** Milliseconds until it is due, a whole number up to 24 h. Default 0. */
  readonly delay?: number;
}

/** How messages are taken up; everything has a default. */
export interface ConsumeOptions {
  /** Messages in hand at one time, 1 to 1000. Default 10. */
  readonly concurrency?: number;
  /**
   * Milliseconds after which the signal of a delivery aborts, up to 24 h. Default 60 000. A handler that has not ended 5 s later is
   * left alone and its place is given to the next message.
   */
  readonly timeout?: number;
}

/** Works on one message. The payload fits the schema of the queue. */
export type MessageHandler<T> = (payload: T, context: MessageContext) => Promise<void>;

/** What a handler gets beside the payload. */
export interface MessageContext {
  /** The `id` that it was published with, or its UUID. */
  readonly id: string;
  /** Aborts at the delivery's deadline, and at the end of the time that `stop` gives. */
  readonly signal: AbortSignal;
  /** Has the queue and the message's id in each line. */
  readonly log: Logger;
}

/** One consumer of a queue. */
export interface QueueConsumer {
  /**
   * No new messages from now on; resolves when those in hand are done, or aborts them after `drain` milliseconds and gives them
   * a second more. Those not begun go to other consumers. A second call does the same for what is left. Never rejects.
   */
  stop(drain: number): Promise<void>;
}

/** Counts and times what the queue does. Names of queues come from declared refs, so they are few. */
export interface QueueObserver {
  published(queue: string, result: PublishResult): void;
  delivered(queue: string, result: DeliveryResult, seconds: number): void;
}

/** `full`: too many wait; `away`: the carrier does not answer; `none`: there is no carrier. */
export type PublishResult = 'ok' | 'full' | 'away' | 'none';

/** `timeout`: not done at its deadline; `stopped`: aborted by `stop`; `invalid`: not what the schema says, and dropped. */
export type DeliveryResult = 'ok' | 'failed' | 'timeout' | 'stopped' | 'invalid';
