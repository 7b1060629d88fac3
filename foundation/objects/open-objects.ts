import type { Clock } from '../base/clock.ts';
import { linkSignals } from '../base/deadline.ts';
import type { Ids } from '../base/ids.ts';
import type { Logger } from '../observability/logger.ts';
import { openFileStore } from './files/file-store.ts';
import { ObjectErrors } from './object-errors.ts';
import { checkTenantId } from './object-key.ts';
import { createObjectSpace, type ObserveObjects } from './object-space.ts';
import type { ObjectStore } from './object-store.ts';
import type { ObjectStoreUrl } from './object-store-url.ts';
import type { Objects } from './objects.ts';
import type { OfferedObjectStore } from './offered-store.ts';

/** What object storage needs. */
export interface ObjectsOptions {
  /** What `parseObjectStoreUrl` read. */
  readonly url: ObjectStoreUrl;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** The stores that plugins contribute now; default none. */
  readonly stores?: () => readonly OfferedObjectStore[];
  /** Called for every operation; default: not observed. */
  readonly observe?: ObserveObjects;
}

/**
 * Opens object storage. Files: makes the folder, and deletes temporary files that a crash has left more than an hour
 * ago, now and once more when an hour is over; throws `ObjectStoreStartError`. S3: loads the AWS SDK and asks nothing
 * of the store yet, so that a gateway starts without it. A plugin: looks for its store at each operation.
 */
export async function openObjects(options: ObjectsOptions): Promise<Objects> {
  const { url, clock, observe = () => {} } = options;
  const closing = new AbortController();
  const store = endingWith(closing.signal, await openStore(options));
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
    close: () => {
      closing.abort(ObjectErrors.unavailable('The gateway stops'));
      return store.close();
    },
  };
}

/** What stops to come of a body that somebody sends would keep its write, and the process, for minutes. */
function endingWith(closing: AbortSignal, store: ObjectStore): ObjectStore {
  return {
    ...store,
    async put(key, body, options) {
      if (typeof body === 'string' || body instanceof Uint8Array) return store.put(key, body, options);
      using open = linkSignals(options.signal, closing);
      return await store.put(key, body, { ...options, signal: open.signal });
    },
  };
}

async function openStore({ url, stores = () => [], clock, ids, log }: ObjectsOptions): Promise<ObjectStore> {
  if (url.form === 'none') return noStore;
  if (url.form === 'files') return openFileStore({ folder: url.folder, clock, ids, log });
  if (url.form === 'plugin') {
    const { openProvidedStore } = await import('./provided-store.ts');
    return openProvidedStore({ name: url.name, stores, log });
  }
  const { openS3Store } = await import('./s3/s3-store.ts');
  return openS3Store(url, clock, ids, log);
}

const refuse = async (): Promise<never> => {
  throw ObjectErrors.unavailable('This gateway has no object storage (OBJECT_STORE_URL is none)', {
    retryable: false,
  });
};

/** What there is with `OBJECT_STORE_URL=none`: nothing, and that is in order. */
const noStore: ObjectStore = {
  put: refuse,
  get: refuse,
  head: refuse,
  delete: refuse,
  list: refuse,
  deleteAll: refuse,
  check: async () => {},
  close: async () => {},
};
