/**
 * Tells other processes that a lock of theirs may have become free, so that they need not wait for their next question.
 * Messages may be late or missing; nothing depends on them but time.
 */
export interface LockHints {
  notify(key: string): void;
  /** Calls the listener with the keys that other processes tell; the result ends that. */
  subscribe(listener: (key: string) => void): () => void;
}
