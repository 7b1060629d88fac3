import type { EventRef } from './event-ref.ts';

/** Where an event was emitted. */
export interface EventMeta {
  /** `local`: in this process. `remote`: in another replica. */
  readonly origin: 'local' | 'remote';
}

/** Called with one event. Of its calls only one runs at a time; a minute after its start the next one begins anyway. */
export type EventListener<T> = (payload: T, meta: EventMeta) => void | Promise<void>;

/**
 * Hints between the parts of a process and between replicas. Delivery is at most once: an event may be lost when a
 * process ends, a connection breaks or a buffer is full, so nothing may depend on it but speed.
 */
export interface Events {
  /**
   * Delivers to this process's listeners (asynchronously, in order of emission for each event) and to every other
   * replica as soon as it can. What arrives is what JSON keeps of the payload, each listener has a copy of its own.
   * Emit after the transaction that the event tells of, or others look before there is anything to see.
   *
   * Never throws for an outage, and does nothing after `close`.
   *
   * @throws EventErrors.unfit for a payload that does not fit the event's schema.
   * @throws EventErrors.tooLarge for a payload above 7,000 bytes of JSON, however events reach other replicas.
   */
  emit<T>(event: EventRef<T>, payload: NoInfer<T>): void;

  /**
   * Listens to an event of this process and of the others. A listener that throws is logged and disturbs no other. One
   * that falls 1,000 events behind loses the oldest, and `onMissed` tells of it.
   *
   * @returns the undo: when it has returned, the listener is not called any more.
   */
  on<T>(event: EventRef<T>, listener: EventListener<NoInfer<T>>): () => void;

  /**
   * Called when events may have been missed and caches should be dropped: each time when the connection to the other
   * replicas stands again, the first time included (what was sent before it is missed too), when another replica could
   * not send all of its events, and when a listener of this process fell behind. At most once a second; a later reason
   * within that second is told at its end. Never called with reach `process`, but for a listener that fell behind.
   *
   * @returns the undo.
   */
  onMissed(listener: () => void): () => void;

  /** How events reach other replicas; `process`: not at all. */
  readonly reach: 'process' | 'redis' | 'postgres';

  /**
   * Sends what is buffered, for 2 seconds at most, and closes. What then still waits for listeners of this process is
   * dropped. A second call waits for the first.
   */
  close(): Promise<void>;
}
