/** Who wants to know how a stream begins. */
export interface StartWatcher {
  /** At the first `next()`, before anything is asked. What it throws is the stream's failure. */
  before?(): void;
  /** The first element is there. */
  begun?(): void;
  /** The stream failed before its first element, or was left (no error) while it was waited for. */
  failed?(error?: unknown): void;
}

/**
 * The same stream, with its beginning watched. Written by hand instead of as a generator, which would cost each element
 * another turn of the microtask queue: after the first element only a function call is left.
 */
export function watchStart<T>(stream: AsyncIterable<T>, watcher: StartWatcher): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]();
      let phase: 'unasked' | 'asked' | 'decided' = 'unasked';

      async function first(): Promise<IteratorResult<T>> {
        watcher.before?.();
        phase = 'asked';
        try {
          const result = await iterator.next();
          phase = 'decided';
          watcher.begun?.();
          return result;
        } catch (error) {
          phase = 'decided';
          watcher.failed?.(error);
          throw error;
        }
      }

      return {
        next: () => (phase === 'decided' ? iterator.next() : first()),
        async return() {
          if (phase === 'asked') watcher.failed?.();
          phase = 'decided';
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
