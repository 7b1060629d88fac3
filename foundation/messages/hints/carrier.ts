import type { HintForm, SendResult } from './hints.ts';

/** What brings messages from a publisher to a consumer. `createQueue` makes a queue of it. */
export interface Carrier {
  readonly form: HintForm;
  readonly delivers: boolean;
  /** Takes one message over, within 1 s. Never rejects. */
  send(queueId: string, message: Message): Promise<SendResult>;
  /** Begins to hand the messages of a queue to `hands`. */
  receive(queueId: string, hands: Hands): Reception;
  /** Lets go of connections and timers, within 4 s. All receptions have ended. Never rejects. */
  close(): Promise<void>;
}

/** A message as it travels. */
export interface Message {
  readonly id: string;
  /** True when the publisher named it: only then can another of the same id exist. */
  readonly isNamed: boolean;
  /** The payload as JSON. */
  readonly text: string;
  /** Milliseconds until it is due. */
  readonly delay: number;
}

/** Where a carrier puts messages. */
export interface Hands {
  /** Messages that may be in hand at one time. */
  readonly concurrency: number;
  /** How many are. */
  readonly size: number;
  /** Takes one in hand. Never rejects; resolves when its place is free again. */
  start(id: string, text: unknown): Promise<void>;
}

/** A consumer's end of a carrier. */
export interface Reception {
  /** Nothing new from now on; what arrives nevertheless goes back. */
  stop(): void;
  /** Called when nothing is in hand any more; gives up what the reception had. Ends within 2 s, never rejects. */
  end(): Promise<void>;
}
