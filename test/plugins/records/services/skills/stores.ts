import type { ExecutionContext, TestFn } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createLocks } from '../../../../../foundation/leases/locks/claimed-locks.ts';
import { createMemoryClaims } from '../../../../../foundation/leases/locks/memory-claims.ts';
import type { Locks, Objects } from '../../../../../kernel/index.ts';
import { freshFolder, openForTest } from '../../../../foundation/objects/open-for-test.ts';
import { startS3Server, useS3Credentials } from '../../../../support/s3-server.ts';

useS3Credentials();

/** What replicas share: a store that each opens for itself, and locks. */
export interface SharedStore {
  /** Opens the store once more, as another replica does. */
  open(): Promise<Objects>;
  readonly locks: Locks;
}

/** Defines a test for files and for S3; each run has an empty store of its own. */
export function eachStore(
  test: TestFn,
  title: string,
  run: (t: ExecutionContext, store: SharedStore) => Promise<void>,
): void {
  for (const form of ['files', 's3'] as const) {
    test(`${form}: ${title}`, async (t) => {
      const url = form === 'files' ? `file:${await freshFolder(t)}` : (await startS3Server(t)).url;
      await run(t, { open: async () => (await openForTest(t, url)).objects, locks: sharedLocks(t) });
    });
  }
}

/** Locks that all replicas of a test share. */
function sharedLocks(t: ExecutionContext): Locks {
  const log = pino({ level: 'silent' });
  const common = { clock: systemClock, ids: createIds(systemClock), log };
  const locks = createLocks({ ...common, claims: createMemoryClaims(systemClock) });
  t.teardown(() => locks.close());
  return locks;
}

/** Locks that exclude nobody: as if every lease had been lost. */
export const lostLocks = {
  withLock: (key: string, _options: object, work: (lock: never) => Promise<unknown>) =>
    work({ key, fence: 1, signal: new AbortController().signal } as never),
} as unknown as Locks;
