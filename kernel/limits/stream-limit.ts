import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Call } from '../api/call.ts';
import type { Concurrency } from './concurrency.ts';

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
