import type { ExecutionContext, TestFn } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import { createLeases } from '../../../../../foundation/leases/create-leases.ts';
import { createMemoryStore } from '../../../../../foundation/leases/memory-store.ts';
import type { Leases, Objects } from '../../../../../kernel/index.ts';
import { newMetrics } from '../../../../foundation/leases/forms.ts';
import { freshFolder, openForTest } from '../../../../foundation/objects/open-for-test.ts';
import { startS3Server, useS3Credentials } from '../../../../support/s3-server.ts';

useS3Credentials();

/** What replicas share: a store that each opens for itself, and leases. */
export interface SharedStore {
  /** Opens the store once more, as another replica does. */
  open(): Promise<Objects>;
  readonly leases: Leases;
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
      await run(t, { open: async () => (await openForTest(t, url)).objects, leases: sharedLeases(t) });
    });
  }
}

/** Leases that all replicas of a test share. */
function sharedLeases(t: ExecutionContext): Leases {
  const log = pino({ level: 'silent' });
  const common = { clock: systemClock, ids: createIds(systemClock), log };
  const leases = createLeases({ ...common, metrics: newMetrics(), store: createMemoryStore() });
  t.teardown(() => leases.close());
  return leases;
}

/** Leases that exclude nobody: as if every one had been lost. */
export const lostLeases = {
  withLease: (key: string, _options: object, work: (lease: never) => Promise<unknown>) =>
    work({ key, signal: new AbortController().signal } as never),
} as unknown as Leases;
