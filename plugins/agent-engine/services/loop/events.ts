import { linkSignals } from 'agent-gateway';

/** Hands an event to the reader; resolves when the reader has taken it, rejects when the work is over. */
export type Emit<E> = (event: E) => Promise<void>;

/**
 * The events of a piece of work, as it emits them; ends with it, or throws what it throws. The work begins with the
 * first `next()` and goes no faster than its reader. Its signal is aborted with the caller's, by `stop`, and when the
 * reader leaves; then the work is waited for, so that nothing is left running.
 */
export async function* eventsOf<E>(
  caller: AbortSignal,
  work: (emit: Emit<E>, signal: AbortSignal, stop: (reason: unknown) => void) => Promise<void>,
): AsyncGenerator<E, void> {
  using end = linkSignals(caller);
  const { signal } = end;
  const waiting: { readonly event: E; readonly taken: () => void; readonly refused: (r: unknown) => void }[] =
    [];
  let wake = () => {};
  let isOver = false;

  signal.addEventListener('abort', () => {
    for (const { refused } of waiting.splice(0)) refused(signal.reason);
  });

  const emit: Emit<E> = (event) =>
    new Promise((taken, refused) => {
      if (signal.aborted) refused(signal.reason);
      else {
        waiting.push({ event, taken, refused });
        wake();
      }
    });
  const done = work(emit, signal, (reason) => end.abort(reason)).finally(() => {
    isOver = true;
    wake();
  });
  // The failure is thrown below; until then no handler may be attached.
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
    end.abort(new Error('the reader of the events has left'));
    await done.catch(() => {});
  }
}
