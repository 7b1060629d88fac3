import type { Readable } from 'node:stream';
import type { _Object, GetObjectCommandOutput, ObjectIdentifier, S3Client } from '@aws-sdk/client-s3';
import type { Upload } from '@aws-sdk/lib-storage';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import { BodyError } from '../body-pieces.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { ObjectStore, StorePutOptions } from '../object-store.ts';
import type {
  ByteRange,
  Deleted,
  GetOptions,
  ObjectBody,
  ObjectInfo,
  ObjectPage,
  StoredObject,
} from '../objects.ts';
import {
  atS3,
  call,
  createS3Client,
  isMissing,
  isOutOfRange,
  putFailure,
  type S3Sdk,
  type S3Url,
  s3Body,
  wasRetried,
} from './s3-client.ts';
import { upload } from './s3-upload.ts';

/** What the form in a bucket needs. */
export interface S3StoreOptions {
  readonly url: S3Url;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'warn'>;
}

/** Metadata by which a write recognizes what it has stored itself. */
const WRITE_ID = 'write-id';

/**
 * Objects in a bucket of S3 or of a store that speaks its protocol. Conditions are asked before and again by the write
 * itself, where the store decides them atomically (Amazon S3, MinIO and others do); one that ignores them leaves the
 * first asking alone.
 */
export async function openS3Store({ url, clock, ids, log }: S3StoreOptions): Promise<ObjectStore> {
  const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
  return new S3Store({
    sdk,
    Upload,
    client: createS3Client(sdk, url, log),
    bucket: url.bucket,
    clock,
    ids,
    log,
  });
}

interface S3StoreParts {
  readonly sdk: S3Sdk;
  readonly Upload: typeof Upload;
  readonly client: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'warn'>;
}

class S3Store implements ObjectStore {
  readonly #parts: S3StoreParts;

  constructor(parts: S3StoreParts) {
    this.#parts = parts;
  }

  async put(key: string, body: ObjectBody, options: StorePutOptions): Promise<ObjectInfo> {
    const { client, Upload, ids, clock, log } = this.#parts;
    const { contentType, ifAbsent, ifMatch, signal } = options;
    const writeId = ids.opaque();
    const input = {
      ...this.#at(key),
      ContentType: contentType,
      Metadata: { [WRITE_ID]: writeId },
      ...(ifAbsent === true ? { IfNoneMatch: '*' } : {}),
      ...(ifMatch === undefined ? {} : { IfMatch: `"${ifMatch}"` }),
    };
    try {
      await this.#requireConditions(key, options);
      const { etag, size } = await upload({ client, Upload, input, log }, body, options);
      return { key, size, modifiedAt: new Date(clock.now()), etag: unquoted(etag), contentType };
    } catch (error) {
      if (error instanceof BodyError) throw error.cause;
      if (signal?.aborted && error === signal.reason) throw error;
      const stored = wasRetried(error) ? await this.#writtenBy(key, writeId) : undefined;
      if (stored !== undefined) return stored;
      throw putFailure(error, options);
    }
  }

  get(key: string, { range, signal }: GetOptions): Promise<StoredObject | undefined> {
    const { client, sdk } = this.#parts;
    return atS3(async () => {
      const input = { ...this.#at(key), ...(range === undefined ? {} : { Range: rangeHeader(range) }) };
      try {
        const found = await call(
          (abortSignal) => client.send(new sdk.GetObjectCommand(input), { abortSignal }),
          { signal },
        );
        const size = range === undefined ? found.ContentLength : sizeIn(found.ContentRange);
        const body = s3Body(found.Body as Readable, signal);
        if (size !== undefined) return { info: infoOf(key, found, size), body };
        body.destroy();
        throw new Error(
          'the answer of S3 does not tell the size of the object, or is not the range that was asked for',
        );
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw isOutOfRange(error) ? ObjectErrors.rangeNotSatisfiable(undefined, { cause: error }) : error;
      }
    }, signal);
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return atS3(async () => {
      const found = await this.#head(key);
      return found && infoOf(key, found, found.ContentLength ?? 0);
    });
  }

  delete(key: string): Promise<boolean> {
    const { client, sdk } = this.#parts;
    return atS3(async () => {
      // S3 answers the same whether or not there was anything.
      if ((await this.#head(key)) === undefined) return false;
      await call((abortSignal) => client.send(new sdk.DeleteObjectCommand(this.#at(key)), { abortSignal }));
      return true;
    });
  }

  list(prefix: string, { after, limit }: Parameters<ObjectStore['list']>[1]): Promise<ObjectPage> {
    const { client, sdk, bucket } = this.#parts;
    return atS3(async () => {
      const input = {
        Bucket: bucket,
        Prefix: prefix,
        MaxKeys: limit,
        ...(after ? { StartAfter: after } : {}),
      };
      const page = await call((abortSignal) =>
        client.send(new sdk.ListObjectsV2Command(input), { abortSignal }),
      );
      const objects = (page.Contents ?? []).map((each) => infoOf(each.Key ?? '', each, each.Size ?? 0));
      const last = objects.at(-1);
      return page.IsTruncated === true && last !== undefined ? { objects, next: last.key } : { objects };
    });
  }

  deleteAll(prefix: string) {
    return atS3(() => clearBucket(this.#parts, prefix));
  }

  check(signal: AbortSignal): Promise<void> {
    const { client, sdk, bucket } = this.#parts;
    return atS3(async () => {
      await call(
        (abortSignal) => client.send(new sdk.HeadBucketCommand({ Bucket: bucket }), { abortSignal }),
        { signal },
      );
    }, signal);
  }

  async close(): Promise<void> {
    this.#parts.client.destroy();
  }

  #at(key: string) {
    return { Bucket: this.#parts.bucket, Key: key };
  }

  async #head(key: string) {
    const { client, sdk } = this.#parts;
    try {
      return await call((abortSignal) =>
        client.send(new sdk.HeadObjectCommand(this.#at(key)), { abortSignal }),
      );
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Saves the sending of a body that would be refused, and is all there is at stores that do not know conditions. */
  async #requireConditions(key: string, { ifAbsent, ifMatch }: StorePutOptions): Promise<void> {
    if (ifAbsent !== true && ifMatch === undefined) return;
    const found = await this.#head(key);
    if (ifAbsent === true && found !== undefined) throw ObjectErrors.exists();
    if (ifMatch !== undefined && (found === undefined || unquoted(found.ETag) !== ifMatch))
      throw ObjectErrors.changed();
  }

  /**
   * What this very write has stored, if it has. When an answer is lost the SDK sends the request again, and the
   * condition then fails against our own object.
   */
  async #writtenBy(key: string, writeId: string): Promise<ObjectInfo | undefined> {
    return atS3(async () => {
      const found = await this.#head(key);
      if (found?.Metadata?.[WRITE_ID] !== writeId) return undefined;
      return infoOf(key, found, found.ContentLength ?? 0);
    });
  }
}

type Described = Pick<GetObjectCommandOutput, 'ETag' | 'LastModified'> & { ContentType?: string };

function infoOf(key: string, { ETag, LastModified, ContentType }: Described, size: number): ObjectInfo {
  const info = { key, size, modifiedAt: LastModified ?? new Date(0), etag: unquoted(ETag) };
  return ContentType === undefined ? info : { ...info, contentType: ContentType };
}

function unquoted(etag: string | undefined): string {
  return etag?.replace(/^"(.*)"$/, '$1') ?? '';
}

function rangeHeader({ start, end }: ByteRange): string {
  return `bytes=${start}-${end ?? ''}`;
}

/** The size of the whole object in `bytes 0-99/1234`. */
function sizeIn(contentRange: string | undefined): number | undefined {
  const size = /\/(\d+)$/.exec(contentRange ?? '')?.[1];
  return size === undefined ? undefined : Number(size);
}

/** Keys that one request may delete. */
const BATCH = 1000;

/** Deletes everything whose key begins with `prefix`, from the first key to the last, 1000 at a time. */
export async function clearBucket(
  { client, sdk, bucket }: { client: S3Client; sdk: S3Sdk; bucket: string },
  prefix: string,
): Promise<Deleted> {
  let deleted = 0;
  let bytes = 0;
  let after: string | undefined;
  do {
    const input = { Bucket: bucket, Prefix: prefix, MaxKeys: BATCH, ...(after ? { StartAfter: after } : {}) };
    const page = await call((abortSignal) =>
      client.send(new sdk.ListObjectsV2Command(input), { abortSignal }),
    );
    const objects = (page.Contents ?? []).filter(hasKey);
    if (objects.length > 0) {
      const request = {
        Bucket: bucket,
        Delete: { Quiet: true, Objects: objects.map(({ Key }) => ({ Key })) },
      };
      const { Errors = [] } = await call((abortSignal) =>
        client.send(new sdk.DeleteObjectsCommand(request), { abortSignal }),
      );
      if (Errors.length > 0) {
        throw new Error(
          `S3 did not delete ${Errors.length} of ${objects.length} objects: ${Errors[0]?.Code}`,
        );
      }
    }
    deleted += objects.length;
    bytes += objects.reduce((sum, { Size = 0 }) => sum + Size, 0);
    after = page.IsTruncated === true ? objects.at(-1)?.Key : undefined;
  } while (after !== undefined);
  return { deleted, bytes };
}

function hasKey(object: _Object): object is _Object & ObjectIdentifier {
  return object.Key !== undefined;
}
