import { Readable } from 'node:stream';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import type { Upload } from '@aws-sdk/lib-storage';
import type { Logger } from '../../observability/logger.ts';
import { bodyPieces, bytesOf } from '../body-pieces.ts';
import type { StorePutOptions } from '../object-store.ts';
import type { ObjectBody } from '../objects.ts';
import { call } from './s3-client.ts';

/** Of what is larger the parts are sent one by one, and the object appears with the last request. S3's minimum. */
const PART_BYTES = 5 * 1024 * 1024;

/** Parts under way at one time; together with the one that is being read they are what an upload holds in memory. */
const PARTS_AT_ONCE = 2;

/** The SDK's names of its requests are stable; its classes may be loaded twice. */
const CLEAN_UP = 'AbortMultipartUploadCommand';

/** What an upload needs. */
interface UploadParts {
  readonly client: S3Client;
  readonly Upload: typeof Upload;
  /** Bucket, key and what goes with them. */
  readonly input: Omit<PutObjectCommandInput, 'Body'>;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Sends a body, in one request when it has 5 MiB at most, else in parts, which are deleted when anything fails. An
 * abort is heeded until the request that makes the object visible is sent: afterwards it could not be known what has
 * become of it. Gives the tag as the store writes it, with quotes, and the bytes.
 */
export async function upload(
  { client, Upload, input, log }: UploadParts,
  body: ObjectBody,
  options: StorePutOptions,
): Promise<{ readonly etag: string | undefined; readonly size: number }> {
  const counted = { size: 0 };
  const source =
    typeof body === 'string' || body instanceof Uint8Array
      ? bytesOf(body)
      : Readable.from(countedPieces(body, options, counted), { objectMode: false });
  if (Buffer.isBuffer(source)) counted.size = source.length;
  // It may be destroyed when it is not read any more; a reader still gets the error.
  else source.on('error', () => {});
  const done = await new Upload({
    client: callingClient({ client, log }, source, options.signal),
    params: { ...input, Body: source },
    partSize: PART_BYTES,
    queueSize: PARTS_AT_ONCE,
  }).done();
  return { etag: done.ETag, size: counted.size };
}

async function* countedPieces(
  body: Readable,
  limits: StorePutOptions,
  counted: { size: number },
): AsyncGenerator<Buffer, void> {
  for await (const piece of bodyPieces(body, limits)) {
    counted.size += piece.length;
    yield piece;
  }
}

/** Requests that are not broken off: afterwards it would not be known what is in the bucket. */
const FINAL = new Set([
  'CreateMultipartUploadCommand',
  'PutObjectCommand',
  'CompleteMultipartUploadCommand',
  CLEAN_UP,
]);

/**
 * The client with a deadline for each request. When one fails the source ends too: other parts may wait for its next
 * bytes.
 */
function callingClient(
  { client, log }: Pick<UploadParts, 'client' | 'log'>,
  source: Buffer | Readable,
  signal: AbortSignal | undefined,
): S3Client {
  const send = async (command: Parameters<S3Client['send']>[0]): Promise<object> => {
    const { name } = command.constructor;
    try {
      return await call((abortSignal) => client.send(command as never, { abortSignal }) as Promise<never>, {
        signal: FINAL.has(name) ? undefined : signal,
      });
    } catch (error) {
      if (!Buffer.isBuffer(source)) source.destroy(error as Error);
      if (name !== CLEAN_UP) throw error;
      // The caller gets the failure that made the clean-up necessary, and not this one.
      log.warn({ err: error }, 'parts of an object that was not stored stay in the bucket');
      return {};
    }
  };
  return Object.assign(Object.create(client) as S3Client, { send });
}
