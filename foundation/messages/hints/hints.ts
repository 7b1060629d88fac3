import type { Static, TSchema } from 'typebox';
import { defineErrors } from '../../base/gateway-error.ts';
import type { Logger } from '../../observability/logger.ts';

/** A typed name for one kind of hints. Compare by `id`; the type parameter exists at compile time only. */
export interface HintRef<T> {
  readonly kind: 'hint';
  /** `<plugin>.<what-to-look-at>`, unique in the deployment. */
  readonly id: string;
  /** Both sides check every message against it: another version of the gateway may have sent it. */
  readonly schema: TSchema;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

const HINT_ID = /^[a-z0-9][a-z0-9.-]{0,99}$/;

/**
 * Declares a kind of hints. Every hint may be lost, come twice, or come late, so a consumer reads from its own tables
 * what there is to do, and looks there from time to time without a hint (its sweeper). A hint names the work by ids and
 * holds no secret; the consumer checks the tenant in its tables. Work that must not be lost is a job (`defineJob`).
 *
 * A schema changes so that old and new replicas understand each other; messages that do not fit are dropped.
 *
 * @param id lower-case letters, digits, `.` and `-`, at most 100 characters
 * @throws TypeError for another id
 *
 * @example
 * export const Look = defineHint('workflow.look', Type.Object({ run_id: Type.String() }));
 */
export function defineHint<const S extends TSchema>(id: string, schema: S): HintRef<Static<S>> {
  if (!HINT_ID.test(id)) {
    throw new TypeError(
      `The id of a hint is lower-case letters, digits, "." and "-", not ${JSON.stringify(id)}`,
    );
  }
  return { kind: 'hint', id, schema };
}

/**
 * Hints between the parts of a gateway and its replicas. The database is the only truth: losing every message costs
 * time, never data, because each consumer also finds its work in its own tables.
 *
 * A message is mostly delivered once, at the time it is due, roughly in the order of publishing. It may be lost, come
 * twice, or reach a consumer while another still works on the message before; consumers bear all of it.
 */
export interface Hints {
  /**
   * Hands a hint over. True when a consumer will see it; false when too many wait, or the carrier is away (the
   * consumer's sweeper finds the work). Answers within 1 s and never rejects for an outage. After `false` the hint may
   * still arrive.
   *
   * @throws queue.payload-invalid, queue.payload-too-large, queue.id-invalid, queue.option-invalid (`delay`)
   * @throws an error inside a database transaction: publish after the commit, or the consumer looks too early
   */
  send<T>(hint: HintRef<T>, payload: T, options?: SendOptions): Promise<boolean>;
  /**
   * Calls `handle` for each message until it is stopped. A handler that fails is logged and counted, and its message is
   * gone. It runs in the asynchronous context of this call, not in that of the publisher.
   *
   * @throws queue.option-invalid, queue.closed
   */
  listen<T>(hint: HintRef<T>, handle: HintHandler<T>, options?: HintOptions): HintConsumer;
  /** @deprecated Each form delivers. */
  readonly delivers: boolean;
  /** What carries the messages. */
  readonly form: HintForm;
  /** Stops all consumers, with 5 s for what they have in hand, and lets go of connections. Ends within 10 s. */
  close(): Promise<void>;
}

/** In this process, through Redis, or through PostgreSQL. */
export type HintForm = 'process' | 'redis' | 'postgres';

/** How a message is published; everything has a default. */
export interface SendOptions {
  /**
   * Names the message: while one of the same name waits (is delayed, too), it stands for both, and the payload and
   * delay of the later one are dropped. Once a consumer has it in hand, the next one is delivered too, at the latest
   * after the first is done. Letters, digits, `.`, `_` and `-`, 128 at most. Default: a new UUID.
   */
  readonly id?: string;
  /** Milliseconds until it is due, a whole number up to 24 h. Default 0. */
  readonly delay?: number;
}

/** How messages are taken up; everything has a default. */
export interface HintOptions {
  /** Messages in hand at one time, 1 to 1000. Default 10. */
  readonly concurrency?: number;
  /**
   * Milliseconds after which the signal of a delivery aborts, up to 24 h. Default 60 000. A handler that has not ended
   * 5 s later is left alone and its place is given to the next message.
   */
  readonly timeout?: number;
}

/** Works on one message. The payload fits the schema of the hint. */
export type HintHandler<T> = (payload: T, context: HintContext) => Promise<void>;

/** What a handler gets in addition to the payload. */
export interface HintContext {
  /** The `id` that it was published with, or its UUID. */
  readonly id: string;
  /** Aborts at the delivery's deadline, and at the end of the time that `stop` gives. */
  readonly signal: AbortSignal;
  /** Has the queue and the message's id in each line. */
  readonly log: Logger;
}

/** One consumer of hints. */
export interface HintConsumer {
  /**
   * No new messages from now on; resolves when those in hand are done, or aborts them after `drain` milliseconds and
   * gives them a second more. Those not begun go to other consumers. A second call does the same for what is left.
   * Never rejects.
   */
  stop(drain: number): Promise<void>;
}

/** `full`: too many wait; `away`: the carrier does not answer. */
export type SendResult = 'ok' | 'full' | 'away';

/**
 * `timeout`: not done at its deadline; `stopped`: aborted by `stop`; `invalid`: not what the schema says, and dropped.
 */
export type DeliveryResult = 'ok' | 'failed' | 'timeout' | 'stopped' | 'invalid';

/** Mistakes of the code that uses hints. Outages are no errors: `send` answers false. */
export const HintErrors = defineErrors({
  payloadInvalid: {
    code: 'queue.payload-invalid',
    kind: 'internal',
    title: 'A message does not fit the schema of its queue',
  },
  payloadTooLarge: {
    code: 'queue.payload-too-large',
    kind: 'internal',
    title: 'A message is too large for a queue',
  },
  idInvalid: { code: 'queue.id-invalid', kind: 'internal', title: 'The id of a message is malformed' },
  optionInvalid: {
    code: 'queue.option-invalid',
    kind: 'internal',
    title: 'An option of a queue is out of its bounds',
  },
  tooManyQueues: { code: 'queue.too-many', kind: 'internal', title: 'There are too many queues' },
  closed: { code: 'queue.closed', kind: 'unavailable', title: 'The queue is closed' },
});
