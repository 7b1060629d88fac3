/** What is loaded at its first use. */
export interface Lazy<T> {
  /**
   * Loads it, or gives what was loaded: all callers share one load. After a load that failed the next call loads again.
   */
  get(): Promise<T>;
  /**
   * What is loaded, or is being loaded; undefined until somebody asked for it, and after a failure. For what ends with
   * it.
   */
  readonly begun: Promise<T> | undefined;
}

/**
 * Loads something at its first use, for parts that most deployments never need.
 *
 * @example
 * const parts = lazy(async () => (await import('./parts.ts')).openParts(services));
 * scope.defer(async () => (await parts.begun)?.close());
 */
export function lazy<T>(load: () => Promise<T>): Lazy<T> {
  let begun: Promise<T> | undefined;
  return {
    get() {
      begun ??= load().catch((error: unknown) => {
        begun = undefined;
        throw error;
      });
      return begun;
    },
    get begun() {
      return begun;
    },
  };
}
