/** Handles items, `width` at a time, until none is left or the signal aborts. `handle` does not reject. */
export async function each<T>(
  items: readonly T[],
  width: number,
  signal: AbortSignal | undefined,
  handle: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) {
      if (signal?.aborted) return;
      await handle(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}
