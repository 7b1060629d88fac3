import type { Static, TSchema } from 'typebox';
import { defineErrors } from '../../base/gateway-error.ts';

/** A typed name for something that happens. Compare by `id`; the type parameter exists at compile time only. */
export interface EventRef<T> {
  readonly kind: 'event';
  /** `<plugin>.<what-happened>`, unique in the deployment: replicas know events by it. */
  readonly id: string;
  /** What a payload looks like. A remote payload that does not fit is dropped. */
  readonly schema: TSchema;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** Longest id of an event, in characters. */
const MAX_ID = 128;

/** The id of what happens: words of lower case letters, digits and hyphens, two at least, joined by dots. */
export const EVENT_ID = /^[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+$/;

/**
 * Declares an event in a plugin's `contract.ts`. An event is a hint, delivered at most once: put ids into it, not data,
 * and let its listeners look into the database.
 *
 * A new version of the plugin runs in parallel with the old one during an update: add optional members, and give an
 * event whose meaning changes a new id.
 *
 * @throws TypeError for an id that is not `<plugin>.<what-happened>` in lower case, 128 characters at most.
 *
 * @example
 * export const SessionAborted = defineEvent('platform.session-aborted', Type.Object({ sessionId: Type.String() }));
 */
export function defineEvent<const S extends TSchema>(id: string, schema: S): EventRef<Static<S>> {
  if (id.length > MAX_ID || !EVENT_ID.test(id)) {
    throw new TypeError(`"${id.slice(0, MAX_ID)}" is not the id of an event, write <plugin>.<what-happened>`);
  }
  return { kind: 'event', id, schema };
}

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
   * Emit after the transaction that the event reports, or listeners look before there is anything to see.
   *
   * Never throws for an outage, and does nothing after `close`.
   *
   * @throws EventErrors.unfit for a payload that does not fit the event's schema.
   * @throws EventErrors.tooLarge for a payload above 7,000 bytes of JSON, however events reach other replicas.
   */
  emit<T>(event: EventRef<T>, payload: NoInfer<T>): void;

  /**
   * Listens to an event of this process and of the others. A listener that throws is logged and disturbs no other. One
   * that falls 1,000 events behind loses the oldest, and `onMissed` is called.
   *
   * @returns the undo: when it has returned, the listener is not called any more.
   */
  on<T>(event: EventRef<T>, listener: EventListener<NoInfer<T>>): () => void;

  /**
   * Called when events may have been missed and caches should be dropped: each time when the connection to the other
   * replicas stands again, the first time included (what was sent before it is missed too), when another replica could
   * not send all of its events, and when a listener of this process fell behind. At most once a second; a later reason
   * within that second is reported at its end. Never called with reach `process`, but for a listener that fell behind.
   *
   * @returns the undo.
   */
  onMissed(listener: () => void): () => void;

  /** How events reach other replicas; `process`: not at all. */
  readonly reach: 'process' | 'redis' | 'postgres';

  /** True while events reach other replicas, and always with reach `process`. */
  readonly isConnected: boolean;

  /**
   * Sends what is buffered, for 2 seconds at most, and closes. What then still waits for listeners of this process is
   * dropped. A second call waits for the first.
   */
  close(): Promise<void>;
}

/** Bounds of events; times in milliseconds. */
export const DEFAULT_LIMITS = {
  /** Messages that wait to be sent; above it the oldest is dropped. They are 7 MB at most. */
  outgoing: 1_000,
  /** Events that wait for one listener; above it the oldest is dropped. */
  backlog: 1_000,
  /** How long a listener may take before the next event is given to it all the same. */
  listenerDeadline: 60_000,
  /** Least time between two calls of `onMissed` listeners. */
  missedEvery: 1_000,
  /** Messages that are sent at one time. */
  batch: 100,
  /** How long a new connection may take. */
  openDeadline: 10_000,
  /** How long the server may take to answer before the connection counts as dead. */
  answerDeadline: 5_000,
  /** How often the server is asked whether it is still there. */
  pingEvery: 5_000,
  /** Delays between attempts to connect. */
  backoff: { first: 100, most: 5_000 },
  /** How long `close` may take to send what is buffered. */
  closeDeadline: 2_000,
};

/** The same with other values. */
export type EventLimits = Readonly<typeof DEFAULT_LIMITS>;

/** Mistakes in emitting an event. They are defects of a plugin, so callers see `internal`. */
export const EventErrors = defineErrors({
  unfit: { code: 'event.unfit', kind: 'internal', title: 'The payload does not fit the schema of its event' },
  tooLarge: { code: 'event.too-large', kind: 'internal', title: 'The payload of an event is too large' },
});
