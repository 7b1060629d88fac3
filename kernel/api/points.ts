import { DOUBTFUL_SETTINGS, DOUBTS, type DoubtfulSettings } from '../../foundation/code/doubts.ts';
import {
  OBJECT_STORE,
  OBJECT_STORES,
  type OfferedObjectStore,
} from '../../foundation/objects/offered-store.ts';
import {
  PERSONAL_DATA,
  type PersonalData,
  STORED_OBJECTS,
  type StoredObjects,
} from '../../foundation/protection/personal-data.ts';
import { RETAINED_RECORDS, type RetainedRecords } from '../../foundation/protection/retained-records.ts';
import { SECRET_STORE, SECRET_STORES, type SecretStore } from '../../foundation/secrets/secret-stores.ts';
import { type ExtensionPoint, extensionPoint } from './refs.ts';

/** What plugins keep about people. Export, erasure and purge ask all of them. */
export const PersonalDataPoint = extensionPoint<PersonalData>('gateway.personal-data', PERSONAL_DATA);
/** Which objects of tenants plugins refer to. The clean-up of objects asks all of them. */
export const StoredObjectsPoint = extensionPoint<StoredObjects>('gateway.stored-objects', STORED_OBJECTS);
/** Records that grow without end, and may go when they are old. The plugin `records` applies their retention. */
export const RetentionPoint = extensionPoint<RetainedRecords>('gateway.retained-records', RETAINED_RECORDS);
/** Stores of secrets, which references name. */
export const SecretStoresPoint = extensionPoint<SecretStore>(SECRET_STORES, SECRET_STORE);

/** Object storage, which `OBJECT_STORE_URL` names. */
export const ObjectStoresPoint = extensionPoint<OfferedObjectStore>(OBJECT_STORES, OBJECT_STORE);

/** Settings that name what no plugin brings. `saas-api check` shows them; plugins log their own. */
export const DoubtfulSettingsPoint = extensionPoint<DoubtfulSettings>(DOUBTFUL_SETTINGS, DOUBTS);

const KEPT: readonly ExtensionPoint<unknown>[] = [PersonalDataPoint, StoredObjectsPoint, RetentionPoint];
/** The points of the gateway itself, which are there also where the plugin that reads one is not. */
export const GATEWAY_POINTS = [...KEPT, SecretStoresPoint, ObjectStoresPoint, DoubtfulSettingsPoint];
