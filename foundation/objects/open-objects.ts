import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Logger } from '../observability/logger.ts';
import { openFileStore } from './files/file-store.ts';
import { noStore } from './no-store.ts';
import { checkTenantId } from './object-key.ts';
import type { ObserveObjects } from './object-metrics.ts';
import { createObjectSpace } from './object-space.ts';
import type { ObjectStore } from './object-store.ts';
import type { ObjectStoreUrl } from './object-store-url.ts';
import type { Objects } from './objects.ts';

/** What object storage needs. */
export interface ObjectsOptions {
  /** What `parseObjectStoreUrl` read. */
  readonly url: ObjectStoreUrl;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Told of every operation; default nobody. */
  readonly observe?: ObserveObjects;
}

/**
 * Opens object storage. Files: makes the folder, and deletes temporary files that a crash has left more than an hour
 * ago; throws `ObjectStoreStartError`. S3: loads the AWS SDK and asks nothing of the store yet, so that a gateway
 * starts without it.
 */
export async function openObjects(options: ObjectsOptions): Promise<Objects> {
  const { url, clock, observe = () => {} } = options;
  const store = await openStore(options);
  const parts = { store, clock, observe };
  const all = createObjectSpace(parts, '');
  return {
    available: url.form !== 'none',
    forTenant(tenantId) {
      checkTenantId(tenantId);
      return createObjectSpace(parts, `${tenantId}/`);
    },
    all: () => all,
    check: (signal) => store.check(signal),
    close: () => store.close(),
  };
}

async function openStore({ url, clock, ids, log }: ObjectsOptions): Promise<ObjectStore> {
  if (url.form === 'none') return noStore;
  if (url.form === 'files') return openFileStore({ folder: url.folder, clock, ids, log });
  const { openS3Store } = await import('./s3/s3-store.ts');
  return openS3Store({ url, clock, ids, log });
}
