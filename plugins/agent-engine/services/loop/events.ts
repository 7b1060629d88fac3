/** Hands an event to the reader; resolves when he has taken it, rejects when the work is over. */
export type Emit<E> = (event: E) => Promise<void>;

/**
 * The events of a piece of work, as it emits them; ends with it, or throws what it throws. The work begins with the first `next()` and goes no
 * faster than its reader. Its signal is aborted with the caller's, and when the reader leaves; then the work is waited for, so that nothing is
 * left running.
 */
export async function* eventsOf<E>(
  caller: AbortSignal,
  work: (emit: Emit<E>, end: AbortController) => Promise<void>,
): AsyncGenerator<E, void> {
  const end = new AbortController();
  const waiting: { readonly event: E; readonly taken: () => void; readonly refused: (r: unknown) => void }[] =
    [];
  let wake = () => {};
  let isOver = false;

  const onAbort = () => end.abort(caller.reason);
  if (caller.aborted) onAbort();
  else caller.addEventListener('abort', onAbort, { once: true });
  end.signal.addEventListener('abort', () => {
    for (const { refused } of waiting.splice(0)) refused(end.signal.reason);
  });

  const emit: Emit<E> = (event) =>
    new Promise((taken, refused) => {
      if (end.signal.aborted) refused(end.signal.reason);
      else {
        waiting.push({ event, taken, refused });
        wake();
      }
    });
  const done = work(emit, end).finally(() => {
    isOver = true;
    wake();
  });
  // Its failure is thrown below; until then nobody may have asked.
  done.catch(() => {});
  try {
    for (;;) {
      const first = waiting.shift();
      if (first !== undefined) {
        first.taken();
        yield first.event;
      } else if (isOver) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    await done;
  } finally {
    caller.removeEventListener('abort', onAbort);
    end.abort(new Error('the reader of the events has left'));
    await done.catch(() => {});
  }
}

/**
 * Does `work` for each item, at most `limit` at one time. After a failure nothing new is begun, `stop` is called, what is under way is waited for,
 * and the first failure is thrown: nothing is left running.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  async function take(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const item = items[next]!;
      next += 1;
      try {
        await work(item);
      } catch (error) {
        const isFirst = failures.length === 0;
        failures.push(error);
        if (isFirst) stop(error);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, take));
  if (failures.length > 0) throw failures[0];
}
