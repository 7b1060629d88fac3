import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';

/**
 * A process with an S3 server: s3rver speaks the protocol (HTTP, XML, signatures). Its own store lists in another order
 * than S3, shows unfinished objects and knows no conditional writes, so what S3 promises about storing is implemented
 * here, in memory. Arguments: the bucket, and `ignore-conditions` for a store that does not know them. Writes its port
 * as a line. POST `/_test/lose-answer`, `/_test/lose-end`: the next write (the next end of an upload in parts) is done
 * but not answered. GET `/_test/uploads`: unfinished uploads.
 */
interface StoredBytes {
  readonly content: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
}

interface S3Context {
  readonly req: IncomingMessage & { socket: { destroy(): void } };
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  status: number;
  type: string;
  body: unknown;
  store: unknown;
  app: object;
}

interface S3App {
  readonly middleware: ((context: S3Context, next: () => Promise<void>) => Promise<void>)[];
  store: unknown;
  run(): Promise<AddressInfo>;
}

const require = createRequire(import.meta.url);
const S3rver = require('@20minutes/s3rver') as new (options: object) => S3App;
const S3Error = require('@20minutes/s3rver/lib/models/error') as new (code: string, message: string) => Error;
const S3Object = require('@20minutes/s3rver/lib/models/object') as new (
  bucket: string,
  key: string,
  content: Readable | null,
  metadata: Readonly<Record<string, string>>,
) => { range?: object };

const [bucketName = 'objects', mode] = process.argv.slice(2);
const objects = new Map<string, StoredBytes>();
const uploads = new Map<string, { parts: Map<number, Buffer>; metadata: StoredBytes['metadata'] }>();
/** The method of the request whose answer is lost. */
let loses: string | undefined;

function keep(headers: StoredBytes['metadata'], key: string, content: Buffer, request: S3Context['headers']) {
  if (mode !== 'ignore-conditions') {
    const existing = objects.get(key)?.metadata.etag;
    const { 'if-none-match': ifNoneMatch, 'if-match': ifMatch } = request;
    if (ifNoneMatch === '*' && existing !== undefined) throw new S3Error('PreconditionFailed', 'it exists');
    if (ifMatch !== undefined && existing === undefined) throw new S3Error('NoSuchKey', 'it does not exist');
    if (ifMatch !== undefined && existing !== ifMatch) throw new S3Error('PreconditionFailed', 'it changed');
  }
  const md5 = createHash('md5').update(content).digest('hex');
  const metadata = {
    ...headers,
    etag: `"${md5}"`,
    'last-modified': new Date().toUTCString(),
    'content-length': `${content.length}`,
  };
  objects.set(key, { content, metadata });
  return { md5, size: content.length };
}

/** What s3rver asks of a store; one for each request, since conditions are headers. */
const storeFor = (request: S3Context['headers']) => ({
  getBucket: async (name: string) => (name === bucketName ? { name, creationDate: new Date() } : null),
  putBucket: async () => {},
  getSubresource: async () => null,
  existsObject: async (_: string, key: string) => objects.has(key),

  async listObjects(
    bucket: string,
    { prefix = '', startAfter = '', maxKeys }: { prefix?: string; startAfter?: string; maxKeys: number },
  ) {
    const after = Buffer.from(startAfter);
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(prefix) && Buffer.compare(Buffer.from(key), after) > 0)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const page = keys.slice(0, maxKeys);
    return {
      objects: page.map((key) => new S3Object(bucket, key, null, (objects.get(key) as StoredBytes).metadata)),
      commonPrefixes: [],
      isTruncated: keys.length > maxKeys,
    };
  },

  async getObject(bucket: string, key: string, options: { start?: number; end?: number }) {
    const found = objects.get(key);
    if (found === undefined) return null;
    const { content, metadata } = found;
    const { start = 0, end = Number.POSITIVE_INFINITY } = options;
    const isRange = options.start !== undefined;
    const range = { start, end: Math.min(end, content.length - 1) };
    const isOutside = isRange && start >= content.length;
    const body = isOutside ? null : Readable.from(slices(content.subarray(start, range.end + 1)));
    const object = new S3Object(bucket, key, body, metadata);
    return isRange ? Object.assign(object, { range }) : object;
  },

  async putObject(object: { key: string; content: Readable; metadata: StoredBytes['metadata'] }) {
    return keep(object.metadata, object.key, await buffer(object.content), request);
  },

  async deleteObject(_: string, key: string) {
    objects.delete(key);
  },

  async initiateUpload(_: string, _key: string, id: string, headers: StoredBytes['metadata']) {
    const { metadata } = new S3Object('', '', null, headers) as unknown as StoredBytes;
    uploads.set(id, { parts: new Map(), metadata });
  },

  async putPart(_: string, id: string, number: string, content: Readable) {
    const bytes = await buffer(content);
    const upload = uploads.get(id);
    if (upload === undefined) throw new S3Error('NoSuchUpload', 'it was aborted');
    upload.parts.set(Number(number), bytes);
    return { md5: createHash('md5').update(bytes).digest('hex'), size: bytes.length };
  },
});

/** An upload's key is in the path of the request that completes it; s3rver does not hand it to the store. */
const completing = (context: S3Context) => ({
  ...storeFor(context.headers),
  async putObjectMultipart(bucket: string, id: string, parts: readonly { number: number }[]) {
    const upload = uploads.get(id);
    if (upload === undefined) throw new S3Error('NoSuchUpload', 'it was completed or aborted');
    const numbers = parts.map(({ number }) => number).sort((a, b) => a - b);
    const content = Buffer.concat(numbers.map((number) => upload.parts.get(number) as Buffer));
    const key = decodeURIComponent(context.path.slice(bucket.length + 2));
    const kept = keep(upload.metadata, key, content, context.headers);
    uploads.delete(id);
    return kept;
  },
});

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536);
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescaped(xml: string): string {
  return xml.replace(/&(\w+);/g, (_, name) => ENTITIES[name] as string);
}

async function extras(context: S3Context, next: () => Promise<void>): Promise<void> {
  const { method, path, query } = context;
  if (path.startsWith('/_test/lose')) {
    loses = path === '/_test/lose-end' ? 'POST' : 'PUT';
    context.status = 204;
  } else if (path === '/_test/uploads') {
    context.body = `${uploads.size}`;
  } else if (method === 'DELETE' && query.uploadId !== undefined) {
    uploads.delete(query.uploadId);
    context.status = 204;
  } else if (method === 'POST' && query.delete !== undefined) {
    // s3rver takes spaces off the ends of keys and reads numbers where they are text.
    for (const [, key] of (await text(context.req)).matchAll(/<Key>([^<]*)<\/Key>/g)) {
      objects.delete(unescaped(key as string));
    }
    context.body = '<DeleteResult/>';
    context.type = 'application/xml';
  } else {
    context.store = completing(context);
    // Requests to the bucket are signed for `/bucket/`, which s3rver takes for `/bucket`: it checks their key's name
    // alone.
    if (/^\/[^/]+\/$/.test(path)) {
      context.app = Object.create(context.app, { allowMismatchedSignatures: { value: true } });
    }
    const isLost = loses === 'PUT' ? method === 'PUT' : method === loses && query.uploadId !== undefined;
    await next();
    // It escapes twice.
    if (typeof context.body === 'string') context.body = context.body.replaceAll('&amp;', '&');
    if (!isLost) return;
    loses = undefined;
    context.req.socket.destroy();
  }
}

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory: `/nowhere/${randomUUID()}`,
});
// Whether the bucket exists is asked of this one.
server.store = storeFor({});
// Behind the logger, which other parts of s3rver expect, and before everything else.
server.middleware.splice(1, 0, extras);
const { port } = await server.run();
process.stdout.write(`${port}\n`);
// The end of the test's process is the end of this one.
process.stdin.on('end', () => process.exit(0)).resume();
