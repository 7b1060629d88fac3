/** Runs `work` at each call, one run at a time: calls that come while it runs share one run after it. */
export function coalesced(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= running
      .catch(() => {}) // told to whoever asked for that run
      .then(() => {
        next = undefined;
        running = work();
        return running;
      });
    return next;
  };
}
