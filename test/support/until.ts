import { until } from '../../testing/until.ts';

export { until };

/** Resolves once a value has stayed the same for `quietMs`; rejects after `deadlineMs` (default 10 s). */
export async function settled(value: () => unknown, quietMs = 300, deadlineMs = 10_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  let last = value();
  let since = performance.now();
  await until(() => {
    if (performance.now() > deadline) throw new Error(`still changing after ${deadlineMs} ms: ${value}`);
    const next = value();
    if (next !== last) {
      last = next;
      since = performance.now();
    }
    return performance.now() - since >= quietMs;
  }, deadlineMs + quietMs);
}
