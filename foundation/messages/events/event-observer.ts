/**
 * Why something was dropped:
 * - `outgoing`: the buffer was full, the connection broke while it was sent, or the server refused it
 * - `backlog`: a listener of this process fell behind
 * - `unfit`: a payload from another replica did not fit the listener's schema
 * - `malformed`: a message on the channel was none of ours, or of a version that is not known here
 */
export type EventLoss = 'outgoing' | 'backlog' | 'unfit' | 'malformed';

/** Told of what happens to events, for metrics. It must not throw. */
export interface EventObserver {
  /** An event was emitted in this process. */
  emitted(): void;
  /** An event of another replica arrived that somebody listens to here. */
  received(): void;
  dropped(reason: EventLoss, count: number): void;
  /** The connection to the other replicas stands, or is away. Not called with reach `process`. */
  connected(isConnected: boolean): void;
}

/** Observes nothing. */
export const NO_OBSERVER: EventObserver = {
  emitted: () => undefined,
  received: () => undefined,
  dropped: () => undefined,
  connected: () => undefined,
};
