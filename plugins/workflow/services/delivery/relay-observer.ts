/** Hears what becomes of events, for metrics. Methods return at once and never throw. */
export interface RelayObserver {
  /** A sink took so many events, the oldest of them so many milliseconds after it was written. */
  delivered(sink: string, events: number, delayMs: number): void;
  /** A sink did not take them; they come again. */
  failed(sink: string): void;
  /** So many events for a sink were given up. */
  gaveUp(sink: string, events: number): void;
}

/** For whoever does not want to know. */
export const NO_RELAY_OBSERVER: RelayObserver = {
  delivered: () => {},
  failed: () => {},
  gaveUp: () => {},
};
