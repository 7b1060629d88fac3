import type { Readable } from 'node:stream';
import type { FormOf } from '../code/contribution-form.ts';
import type { ByteRange, ObjectInfo, ObjectPage, StoredObject } from './objects.ts';

/** How the store of a plugin is to store an object. */
export interface OfferedPut {
  /** 1 to 150 printable ASCII characters. */
  readonly contentType: string;
  /** Store only where there is nothing, else throw `ObjectErrors.exists()`. Of several such writers one wins. */
  readonly ifAbsent: boolean;
  /**
   * Store only over the object of this `etag`, else throw `ObjectErrors.changed()`. Undefined: over whatever is there.
   */
  readonly ifMatch: string | undefined;
  /**
   * Aborts when the caller gives up, or when nothing was read of the body, and it was not stored, for a minute. Nothing
   * is stored then, unless the last step was under way.
   */
  readonly signal: AbortSignal;
}

/**
 * Object storage that a plugin brings; `OBJECT_STORE_URL=plugin://acme/box` is the one called `plugin/acme/box`. Keys
 * are whole and valid: `<tenant id>/…` or `_system/…`, 1 to 965 bytes of UTF-8, and compared by their bytes. The
 * gateway has checked what callers gave, adds metrics, limits of bodies and deadlines (a minute for each answer, and
 * for silence inside a body), and makes sure that what comes back is what was asked for. `objectStoreConformance` of
 * `agent-gateway/testing` checks all promises.
 *
 * Errors of `ObjectErrors` keep their meaning and lose their text; any other error is `objects.unavailable`, and
 * logged. The plugin ends what the store holds.
 */
export interface OfferedObjectStore {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * Stores the whole body, durably, or nothing: when it breaks off with an error nothing is stored. Readers have the
   * old object or the new one. An `etag` is 1 to 200 printable ASCII characters without quotes; another content has
   * another one.
   */
  put(key: string, body: Readable, options: OfferedPut): Promise<ObjectInfo>;
  /**
   * Opens an object; undefined when there is none. `range` begins at 0 and has both ends included; without `end` it
   * goes to the object's end, which an `end` behind it means, too. `info.size` is that of the whole object. Throws
   * `ObjectErrors.rangeNotSatisfiable()` for a range that begins behind the end. The signal breaks the body off.
   */
  get(
    key: string,
    options: { readonly range: ByteRange | undefined; readonly signal: AbortSignal },
  ): Promise<StoredObject | undefined>;
  /** What is known of an object; undefined when there is none. */
  head(key: string, options: { readonly signal: AbortSignal }): Promise<ObjectInfo | undefined>;
  /** Deletes an object; false where there was none. */
  delete(key: string, options: { readonly signal: AbortSignal }): Promise<boolean>;
  /**
   * Objects whose key begins with `prefix`, by the bytes of their keys, behind `after`, `limit` (1 to 1000) at most.
   * `next` is the key of the last object, and missing on the last page.
   */
  list(
    prefix: string,
    options: { readonly after: string | undefined; readonly limit: number; readonly signal: AbortSignal },
  ): Promise<ObjectPage>;
  /** Resolves when the store answers. */
  check(signal: AbortSignal): Promise<void>;
}

/** The extension point to which plugins contribute stores. */
export const OBJECT_STORES = 'gateway.object-stores';
/** What is asked of each. */
export const OBJECT_STORE: FormOf<OfferedObjectStore> = {
  name: 'text',
  put: 'function',
  get: 'function',
  head: 'function',
  delete: 'function',
  list: 'function',
  check: 'function',
};
