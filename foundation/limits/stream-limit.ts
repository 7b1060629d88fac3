import { KernelErrors } from '../base/error-catalogue.ts';

/** Who opens a stream. */
interface StreamCaller {
  readonly identity: { readonly tenantId: string; readonly id: string };
}

/** Bounds the event streams that one user has open (`SVC_MAX_STREAMS_PER_USER`, decisions 1.6). */
export type StreamLimit = ReturnType<typeof createStreamLimit>;

/** `max` of 0 sets no limit. A user is an identity together with its `X-Svc-User-Id`. Counts in this process. */
export function createStreamLimit(max: number) {
  // Only of users that have something open.
  const open = new Map<string, number>();
  return {
    /** Streams that are open now. */
    get open(): number {
      return open.values().reduce((sum, count) => sum + count, 0);
    },
    /**
     * Takes a place and returns the function that gives it back; calling that again does nothing. @throws 429 with
     * `Retry-After: 30` when the user has none left.
     */
    acquire({ identity }: StreamCaller, userId: string | undefined): () => void {
      const user = JSON.stringify([identity.tenantId, identity.id, userId ?? '']);
      const taken = open.get(user) ?? 0;
      if (max > 0 && taken >= max) {
        throw KernelErrors.tooManyStreams(`No more than ${max} streams may be open at one time`, {
          headers: { 'retry-after': '30' },
        });
      }
      open.set(user, taken + 1);
      let isHeld = true;
      return function release() {
        if (!isHeld) return;
        isHeld = false;
        const left = open.get(user)! - 1;
        if (left === 0) open.delete(user);
        else open.set(user, left);
      };
    },
  };
}
