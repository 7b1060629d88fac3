import type { Readable } from 'node:stream';

/**
 * Where files live that are too large or too many for the database: skills, SOUL.md, uploads, audit archives. Two forms
 * (files on disk, S3) keep the same promises; `openObjects` chooses. An object is stored whole or not at all, and a
 * reader has one version of it, even if it is replaced or deleted meanwhile.
 */
export interface Objects {
  /** False with `OBJECT_STORE_URL=none`: every use of a space then throws `objects.unavailable` (503). */
  readonly available: boolean;
  /**
   * The objects of one tenant: keys are relative to it and cannot leave it. Throws `objects.invalid-key` for an id that
   * is no `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
   */
  forTenant(tenantId: string): ObjectSpace;
  /** Everything, for the work of the kernel and of governance: keys begin with a tenant's id or `_system`. */
  all(): ObjectSpace;
  /**
   * For readiness: resolves when the store answers. Files: something can be written; S3: the bucket can be reached with
   * these credentials. Without object storage there is nothing to check. Rejects with `objects.unavailable`, or with
   * the signal's reason once that is aborted.
   */
  check(signal: AbortSignal): Promise<void>;
  /** Ends connections; requests under way fail. */
  close(): Promise<void>;
}

/**
 * What can be stored. Of a stream that is in object mode or has an encoding each piece is taken as UTF-8 text or bytes.
 */
export type ObjectBody = string | Uint8Array | Readable;

/** What is known of an object without reading it. */
export interface ObjectInfo {
  /** Relative to the space. */
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** When it was stored; S3 gives whole seconds. */
  readonly modifiedAt: Date;
  /**
   * Strong, without quotes: SHA-256 of the content (files), or what the store says. Another content has another one.
   */
  readonly etag: string;
  /** `application/octet-stream` where none was given. Missing in lists. */
  readonly contentType?: string;
}

/** How to store an object. */
export interface PutOptions {
  /** A media type, at most 150 printable ASCII characters. */
  readonly contentType?: string;
  /**
   * Bytes; a larger body is `objects.too-large` (413), and nothing is stored. Default and maximum: `MAX_OBJECT_BYTES`.
   */
  readonly limit?: number;
  /** Store only where there is nothing: `objects.exists` (409). Of several such writers one wins. */
  readonly ifAbsent?: boolean;
  /** Store only over this version: `objects.changed` (412). Not together with `ifAbsent`. */
  readonly ifMatch?: string;
  /** Gives up and rejects with its reason; nothing is stored, unless the last step was under way. */
  readonly signal?: AbortSignal;
}

/** What of an object to read. */
export interface GetOptions {
  /** Bytes from `start` to `end`, both included, counted from 0; without `end` to the object's end. */
  readonly range?: ByteRange;
  /** Breaks the body off. */
  readonly signal?: AbortSignal;
}

/** Positions of the first and the last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number;
}

/** An object that is being read. `info.size` is that of the whole object, also when `body` is a range of it. */
export interface StoredObject {
  readonly info: ObjectInfo;
  /** To be read to its end or destroyed: until then it holds an open file or a connection. */
  readonly body: Readable;
}

/** One page of a list, ordered by the bytes of the keys. */
export interface ObjectPage {
  readonly objects: readonly ObjectInfo[];
  /** Where the next page goes on (`after`); missing on the last one. */
  readonly next?: string;
}

/** Which page of a list. */
export interface ListOptions {
  /** Only keys behind this one; it need not exist. */
  readonly after?: string;
  /** 1 to 1000, which is also the default. */
  readonly limit?: number;
}

/**
 * Some of the objects. Keys have 1 to 900 bytes of UTF-8: segments of 1 to 200 bytes with `/` between them, none of
 * them `.` or `..`, no control characters and no backslash; anything else is `objects.invalid-key` (400), which says
 * what is wrong. `a` and `a/b` may both exist. Every method throws `objects.unavailable` when the store fails,
 * `objects.full` when it has no room.
 */
export interface ObjectSpace {
  /**
   * Stores an object, over an existing one unless the options say otherwise; when it resolves the object is durable. A
   * stream is read with backpressure and never held whole; one that fails rejects with its error, one that gives
   * nothing for five minutes is `objects.stalled`. After a refusal the rest of the stream is the caller's to drain or
   * to destroy.
   */
  put(key: string, body: ObjectBody, options?: PutOptions): Promise<ObjectInfo>;
  /** Opens an object; `undefined` when there is none. Throws `objects.range-not-satisfiable`. */
  get(key: string, options?: GetOptions): Promise<StoredObject | undefined>;
  /** A whole object as text; bytes that are no UTF-8 become U+FFFD. More than `limit` bytes: `objects.too-large`. */
  text(key: string, limit: number): Promise<string | undefined>;
  /** What is known of an object; `undefined` when there is none. */
  head(key: string): Promise<ObjectInfo | undefined>;
  /** Deletes an object and says whether it was there (S3: just before). */
  delete(key: string): Promise<boolean>;
  /**
   * Objects whose key begins with `prefix`, which is text and not a folder: `a` also finds `ab`; end it with `/`. What
   * is there all the time is on exactly one page. Files: each page reads the names of the folder that it is in.
   */
  list(prefix: string, options?: ListOptions): Promise<ObjectPage>;
  /**
   * Deletes all objects whose key begins with `prefix` (text, as in `list`), in batches. What is stored meanwhile may
   * stay, and after a failure a part is deleted: call it again. `all()` refuses an empty prefix.
   */
  deleteAll(prefix: string): Promise<Deleted>;
}

/** What went away. */
export interface Deleted {
  /** Objects. */
  readonly deleted: number;
  readonly bytes: number;
}

/** The largest object: 10,000 parts (what S3 takes) of 5 MiB, which is 48.8 GiB. */
export const MAX_OBJECT_BYTES = 10_000 * 5 * 1024 * 1024;
