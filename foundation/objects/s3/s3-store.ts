import type { Readable } from 'node:stream';
import type { _Object, GetObjectCommandOutput, ObjectIdentifier, S3 } from '@aws-sdk/client-s3';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import { BodyError } from '../body-pieces.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { ObjectStore, StorePutOptions } from '../object-store.ts';
import type { Deleted, ObjectInfo } from '../objects.ts';
import {
  atS3,
  call,
  createS3Client,
  HEAD_DEADLINE,
  isMissing,
  isOutOfRange,
  putFailure,
  type S3Url,
  s3Body,
  wasRetried,
} from './s3-client.ts';
import { upload } from './s3-upload.ts';

/** Metadata by which a write recognizes what it has stored itself. */
const WRITE_ID = 'write-id';

/**
 * Objects in a bucket of S3 or of a store that speaks its protocol. Conditions are asked before and again by the write
 * itself, where the store decides them atomically (Amazon S3, MinIO and others do); one that ignores them leaves the
 * first asking alone.
 */
export async function openS3Store(url: S3Url, clock: Clock, ids: Ids, log: Pick<Logger, 'warn'>) {
  const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
  const client = createS3Client(sdk, url, log);
  const Bucket = url.bucket;

  async function headOf(Key: string) {
    try {
      const found = await call(
        (abortSignal) => client.headObject({ Bucket, Key }, { abortSignal }),
        HEAD_DEADLINE,
      );
      if (found.ETag === undefined) throw new Error('the answer of S3 to HEAD has no ETag');
      return found;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Saves the sending of a body that would be refused, and is all there is at stores that do not know conditions. */
  async function requireConditions(key: string, { ifAbsent, ifMatch }: StorePutOptions): Promise<void> {
    if (ifAbsent !== true && ifMatch === undefined) return;
    const found = await headOf(key);
    if (ifAbsent === true && found !== undefined) throw ObjectErrors.exists();
    if (ifMatch !== undefined && (found === undefined || unquoted(found.ETag) !== ifMatch))
      throw ObjectErrors.changed();
  }

  /**
   * What this very write has stored, if it has. When an answer is lost the SDK sends the request again, and the
   * condition then fails against our own object.
   */
  function writtenBy(key: string, writeId: string): Promise<ObjectInfo | undefined> {
    return atS3(async () => {
      const found = await headOf(key);
      if (found?.Metadata?.[WRITE_ID] !== writeId) return undefined;
      return infoOf(key, found, found.ContentLength ?? 0);
    });
  }

  const store: ObjectStore = {
    async put(key, body, options) {
      const { contentType, ifAbsent, ifMatch, signal } = options;
      const writeId = ids.opaque();
      const input = {
        Bucket,
        Key: key,
        ContentType: contentType,
        Metadata: { [WRITE_ID]: writeId },
        ...(ifAbsent === true ? { IfNoneMatch: '*' } : {}),
        ...(ifMatch === undefined ? {} : { IfMatch: `"${ifMatch}"` }),
      };
      try {
        await requireConditions(key, options);
        const { etag, size } = await upload({ client, Upload, input, log }, body, options);
        // Whatever else answers with 200, a page of a proxy for example, has stored nothing.
        if (etag === undefined) throw new Error('the answer of S3 to a write has no ETag');
        return { key, size, modifiedAt: new Date(clock.now()), etag: unquoted(etag), contentType };
      } catch (error) {
        if (error instanceof BodyError) throw error.cause;
        if (signal?.aborted && error === signal.reason) throw error;
        const stored = wasRetried(error) ? await writtenBy(key, writeId) : undefined;
        if (stored !== undefined) return stored;
        throw putFailure(error, options);
      }
    },

    get(key, { range, signal }) {
      const Range = range && `bytes=${range.start}-${range.end ?? ''}`;
      const input = { Bucket, Key: key, ...(Range === undefined ? {} : { Range }) };
      return atS3(async () => {
        try {
          const found = await call((abortSignal) => client.getObject(input, { abortSignal }), {
            ...HEAD_DEADLINE,
            signal,
          });
          const size = range === undefined ? found.ContentLength : sizeIn(found.ContentRange);
          const body = s3Body(found.Body as Readable, signal);
          if (size !== undefined && found.ETag !== undefined) return { info: infoOf(key, found, size), body };
          body.destroy();
          throw new Error(
            'the answer of S3 does not tell size and ETag of the object, or is not the range that was asked for',
          );
        } catch (error) {
          if (isMissing(error)) return undefined;
          throw isOutOfRange(error) ? ObjectErrors.rangeNotSatisfiable(undefined, { cause: error }) : error;
        }
      }, signal);
    },

    head(key) {
      return atS3(async () => {
        const found = await headOf(key);
        return found && infoOf(key, found, found.ContentLength ?? 0);
      });
    },

    delete(key) {
      return atS3(async () => {
        // S3 answers the same whether or not there was anything.
        if ((await headOf(key)) === undefined) return false;
        await call((abortSignal) => client.deleteObject({ Bucket, Key: key }, { abortSignal }));
        return true;
      });
    },

    list(prefix, { after, limit }) {
      return atS3(async () => {
        const page = await pageOf(client, Bucket, prefix, after, limit);
        const objects = (page.Contents ?? []).map((each) => infoOf(each.Key ?? '', each, each.Size ?? 0));
        const last = objects.at(-1);
        return page.IsTruncated === true && last !== undefined ? { objects, next: last.key } : { objects };
      });
    },

    deleteAll: (prefix) => atS3(() => clearBucket(client, Bucket, prefix)),

    check(signal) {
      return atS3(async () => {
        await call((abortSignal) => client.headBucket({ Bucket }, { abortSignal }), {
          ...HEAD_DEADLINE,
          signal,
        });
      }, signal);
    },

    async close() {
      client.destroy();
    },
  };
  return store;
}

type Described = Pick<GetObjectCommandOutput, 'ETag' | 'LastModified'> & { ContentType?: string };

function infoOf(key: string, { ETag, LastModified, ContentType }: Described, size: number): ObjectInfo {
  const info = { key, size, modifiedAt: LastModified ?? new Date(0), etag: unquoted(ETag) };
  return ContentType === undefined ? info : { ...info, contentType: ContentType };
}

function unquoted(etag: string | undefined): string {
  return etag?.replace(/^"(.*)"$/, '$1') ?? '';
}

/** The size of the whole object in `bytes 0-99/1234`. */
function sizeIn(contentRange: string | undefined): number | undefined {
  const size = /\/(\d+)$/.exec(contentRange ?? '')?.[1];
  return size === undefined ? undefined : Number(size);
}

/** Keys that one request may delete. */
const BATCH = 1000;

/**
 * @throws Error for what is no list, a page of a proxy for example, and for one of other objects. Also where the store
 * does not go on after `after`: whoever reads to the end would never come there.
 */
async function pageOf(
  client: S3,
  Bucket: string,
  Prefix: string,
  after: string | undefined,
  MaxKeys: number,
) {
  const input = { Bucket, Prefix, MaxKeys, ...(after ? { StartAfter: after } : {}) };
  const page = await call((abortSignal) => client.listObjectsV2(input, { abortSignal }));
  if (page.IsTruncated === undefined) throw new Error('the answer of S3 is no list');
  if (page.Contents?.some(({ Key }) => Key?.startsWith(Prefix) === false))
    throw new Error('S3 lists objects other than those asked for');
  const first = page.Contents?.[0]?.Key;
  // S3 sorts keys by the bytes of their UTF-8.
  if (after && first !== undefined && Buffer.compare(Buffer.from(first), Buffer.from(after)) <= 0)
    throw new Error('S3 lists from the beginning again: the store ignores StartAfter, which lists need');
  return page;
}

/** Deletes everything whose key begins with `prefix`, from the first key to the last, 1000 at a time. */
async function clearBucket(client: S3, Bucket: string, prefix: string): Promise<Deleted> {
  let deleted = 0;
  let bytes = 0;
  let after: string | undefined;
  do {
    const page = await pageOf(client, Bucket, prefix, after, BATCH);
    const objects = (page.Contents ?? []).filter(hasKey);
    if (objects.length > 0) {
      const Delete = { Quiet: true, Objects: objects.map(({ Key }) => ({ Key })) };
      const { Errors = [] } = await call((abortSignal) =>
        client.deleteObjects({ Bucket, Delete }, { abortSignal }),
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
