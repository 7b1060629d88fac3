import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Call } from '../api/call.ts';

/** Bounds the event streams that one user has open (`SVC_MAX_STREAMS_PER_USER`, decisions 1.6). */
export interface StreamLimit {
  /** Takes a place and returns what gives it back. @throws 429 with `Retry-After: 30` when the user has none left. */
  acquire(call: Pick<Call, 'identity'>, userId: string | undefined): () => void;
}

/** `max` of 0 sets no limit. A user is an identity together with its `X-Svc-User-Id`. */
export function createStreamLimit(open: Concurrency, max: number): StreamLimit {
  return {
    acquire: ({ identity }, userId) => {
      const release = open.acquire(`${identity.tenantId}:${identity.id}:${userId ?? ''}`, max);
      if (release !== undefined) return release;
      throw KernelErrors.tooManyStreams(`No more than ${max} streams may be open at one time`, {
        headers: { 'retry-after': '30' },
      });
    },
  };
}

/** Counts what is open at one time, per key, in this process. */
interface Concurrency {
  /**
   * Takes a place and returns the function that gives it back (calling it again does nothing), or `undefined` when
   * `max` places of the key are taken. A `max` of 0 is no limit.
   */
  acquire(key: string, max: number): (() => void) | undefined;
  /** How many places of the key are taken. */
  inUse(key: string): number;
}

/** Concurrent counters, for `SVC_MAX_STREAMS_PER_USER` (decisions 1.6). Holds only keys that have something open. */
export function createConcurrency(): Concurrency {
  const open = new Map<string, number>();
  return {
    acquire(key, max) {
      const taken = open.get(key) ?? 0;
      if (max > 0 && taken >= max) return undefined;
      open.set(key, taken + 1);
      let isHeld = true;
      return function release() {
        if (!isHeld) return;
        isHeld = false;
        const left = (open.get(key) as number) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      };
    },
    inUse: (key) => open.get(key) ?? 0,
  };
}
