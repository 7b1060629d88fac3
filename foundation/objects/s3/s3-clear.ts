import type { _Object, ObjectIdentifier, S3Client } from '@aws-sdk/client-s3';
import type { Deleted } from '../objects.ts';
import { call } from './s3-call.ts';
import type { S3Sdk } from './s3-client.ts';

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
