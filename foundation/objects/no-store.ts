import { ObjectErrors } from './object-errors.ts';
import type { ObjectStore } from './object-store.ts';

const refuse = async (): Promise<never> => {
  throw ObjectErrors.unavailable('This gateway has no object storage (OBJECT_STORE_URL is none)');
};

/** What there is with `OBJECT_STORE_URL=none`: nothing, and that is in order. */
export const noStore: ObjectStore = {
  put: refuse,
  get: refuse,
  head: refuse,
  delete: refuse,
  list: refuse,
  deleteAll: refuse,
  check: async () => {},
  close: async () => {},
};
