import { SandboxErrors } from '../../contract.ts';

/** Bounds of the queue. */
interface RunQueueOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  /** Milliseconds that one execution waits for its turn. */
  readonly maxWaitMs: number;
}

interface Waiter {
  readonly tenantId: string;
  readonly begin: () => void;
}

/**
 * The next to run is the first of the tenant that has the fewest executions running, so that one busy tenant does not
 * keep the others waiting. Of the waiting places one tenant gets half at most.
 */
export function createRunQueue({ maxRunning, maxWaiting, maxWaitMs }: RunQueueOptions) {
  const running = new Map<string, number>();
  const waiting: Waiter[] = [];
  let count = 0;

  function take(tenantId: string): () => void {
    count += 1;
    running.set(tenantId, (running.get(tenantId) ?? 0) + 1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      count -= 1;
      const left = running.get(tenantId)! - 1;
      if (left === 0) running.delete(tenantId);
      else running.set(tenantId, left);
      const next = nextIndex(waiting, running);
      if (next !== undefined) waiting.splice(next, 1)[0]!.begin();
    };
  }

  return {
    get running(): number {
      return count;
    },
    get waiting(): number {
      return waiting.length;
    },
    /**
     * Resolves with a function that gives the place back, once it is the tenant's turn. Throws `sandbox.busy` when too
     * many wait already, or after `maxWaitMs`, and the signal's reason.
     */
    async enter(tenantId: string, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      if (count < maxRunning) return take(tenantId);
      const ofTenant = waiting.filter((waiter) => waiter.tenantId === tenantId).length;
      if (waiting.length >= maxWaiting || ofTenant >= Math.ceil(maxWaiting / 2)) throw SandboxErrors.busy();
      return await new Promise<() => void>((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        };
        const waiter: Waiter = {
          tenantId,
          begin() {
            leave();
            resolve(take(tenantId));
          },
        };
        const giveUp = (reason: unknown) => {
          waiting.splice(waiting.indexOf(waiter), 1);
          leave();
          reject(reason);
        };
        const onAbort = () => giveUp(signal.reason);
        const timer = setTimeout(() => giveUp(SandboxErrors.busy()), maxWaitMs);
        signal.addEventListener('abort', onAbort);
        waiting.push(waiter);
      });
    },
  };
}

/** Index of the next to run: the first of those whose tenant has the fewest running. Undefined where none waits. */
export function nextIndex(
  waiting: readonly { readonly tenantId: string }[],
  running: ReadonlyMap<string, number>,
): number | undefined {
  let best: number | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const [index, { tenantId }] of waiting.entries()) {
    const its = running.get(tenantId) ?? 0;
    if (its >= fewest) continue;
    best = index;
    fewest = its;
  }
  return best;
}
